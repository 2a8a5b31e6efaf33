"""The audit log, what can be told from it alone, and whether tables agree with it."""
