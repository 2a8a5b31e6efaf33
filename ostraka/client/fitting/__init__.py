"""Models of all parties' records, learned from noisy sums: their questions, costs and results."""
