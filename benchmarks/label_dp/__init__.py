"""Learning from private labels, as Tables 2 to 5 of Tang et al. 2022 measure it, on data at hand."""
