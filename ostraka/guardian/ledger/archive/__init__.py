"""Copies of a ledger: signed archives of closed sessions, exports, backups, and restoring them."""
