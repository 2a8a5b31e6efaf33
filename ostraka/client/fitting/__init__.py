"""Models of all parties' records, learned from noisy sums: what is asked, what it costs, what comes of it."""
