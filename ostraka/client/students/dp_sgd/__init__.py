"""DP-SGD: a student that may be published, because its training is private for its training records."""
