"""Learning from private labels, as Tables 2 to 6 of Tang et al. 2022 measure it, on data at hand."""
