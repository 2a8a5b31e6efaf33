"""Numerical building blocks: moments, tails and sums that keep their digits."""
