"""Ballots that the guardian and the querying party verify without seeing them (docs/verified-ballots.md)."""
