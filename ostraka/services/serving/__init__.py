"""An answering party as a server."""
