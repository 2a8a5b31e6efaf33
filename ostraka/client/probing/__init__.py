"""Probing: small groups of parties are asked about own labelled records, to find a party that votes badly."""
