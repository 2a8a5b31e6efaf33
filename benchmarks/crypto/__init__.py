"""Ballots with proofs, argmax in circuits and encrypted heads beside others (docs/confidential-costs.md)."""
