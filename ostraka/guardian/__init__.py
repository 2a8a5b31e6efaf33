"""The privacy guardian: tallies, noise, accounting, budgets."""
