"""Learners of noisy sums: what they ask, and the model that they make of the answers (docs/sums.md)."""
