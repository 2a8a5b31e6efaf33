"""Measures what dependencies between labels are worth, in the shape of 000, Table 4."""
