"""Learners from noisy sums: their questions, and the models that they fit to the answers (docs/sums.md)."""
