"""Linear heads on encrypted queries: ring learning with errors, a query a coefficient, uniform masks."""
