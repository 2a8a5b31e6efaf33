"""A program for each library, run where that is installed; none imports Ostraka, whose NumPy is another."""
