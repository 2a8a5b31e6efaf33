"""Commands of an answering party's operator."""
