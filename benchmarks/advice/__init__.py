"""Advice compared with outcomes, on real tables."""
