"""Verified ballots, argmax circuits, encrypted heads, next to other libraries
(docs/confidential-costs.md)."""
