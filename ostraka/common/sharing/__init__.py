"""Ballots as additive shares in a ring of integers modulo a power of two."""
