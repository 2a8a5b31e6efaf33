"""The blind tally: what the guardian computes on sums that it cannot see (DESIGN section 8)."""
