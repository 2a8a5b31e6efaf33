"""Registrations of parties, and what follows for a ledger that lost history."""
