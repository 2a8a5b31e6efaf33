"""Linear heads on encrypted queries: ring learning with errors, one query per coefficient, uniform masks."""
