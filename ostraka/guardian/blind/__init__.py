"""The blind tally: what the guardian computes on sums that it cannot see (docs/confidential.md)."""
