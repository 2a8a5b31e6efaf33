"""Parties, their declarations, and the federation's policies and revocations."""
