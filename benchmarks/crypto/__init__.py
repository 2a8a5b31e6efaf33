"""Verified ballots, argmax in circuits and encrypted heads beside other libraries (docs/confidential.md)."""
