"""Checks of `ostraka site check`: small functions, each of which finds one thing."""
