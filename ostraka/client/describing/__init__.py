"""Statistics of all parties' records, from one noisy sum of counts."""
