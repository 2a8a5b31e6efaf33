"""Sums over a party's own labelled records, as public questions ask for them."""
