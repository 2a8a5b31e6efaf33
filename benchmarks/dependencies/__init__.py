"""Measures what dependencies between labels are worth, in the shape of Dziedzic et al. 2023, Table 4."""
