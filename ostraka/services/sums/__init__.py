"""Sums over a party's own labelled records, for public questions."""
