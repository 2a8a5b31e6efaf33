"""What administrators may see and set: budgets, sessions, the audit log."""
