"""Ballots as additive shares in a ring of integers modulo a power of two."""

FRACTION_BITS = 16
"""Fractional bits of every ballot and every draw of noise: one vote is 2^16."""
