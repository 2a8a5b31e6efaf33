"""A program per library, run in its environment; none imports Ostraka, whose NumPy version differs."""
