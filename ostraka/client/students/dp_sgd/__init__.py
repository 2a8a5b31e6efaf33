"""DP-SGD: a student that may be given away, as its training is private for the records it learned from."""
