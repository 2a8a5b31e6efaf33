"""Administration of the guardian: budgets, sessions, the audit log."""
