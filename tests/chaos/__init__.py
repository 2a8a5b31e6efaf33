"""Tests that try to break the ledger and the sessions: `make chaos`, docs/robustness.md."""
