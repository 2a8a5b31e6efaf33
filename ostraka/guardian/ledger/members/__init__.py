"""Parties, what they declared, and the federation's policies and revocations."""
