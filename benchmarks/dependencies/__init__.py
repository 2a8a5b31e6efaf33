"""Measures the benefit of dependencies between labels, as in Dziedzic et al. 2023, Table 4."""
