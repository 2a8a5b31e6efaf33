"""Learning from private labels, as Tables 2 to 5 of 001 measure it, on data at hand."""
