"""Learning from private labels, as in Tables 2 to 6 of Tang et al. 2022, on available data."""
