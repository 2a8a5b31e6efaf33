"""Records as arrays: read from files, split, written."""
