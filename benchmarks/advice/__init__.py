"""Advice held against what happens, on real tables."""
