"""The audit log, what follows from it alone, and whether the tables agree with it."""
