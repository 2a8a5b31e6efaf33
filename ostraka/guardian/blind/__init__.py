"""The blind tally: the guardian's computation on sums that it cannot see (docs/confidential.md)."""
