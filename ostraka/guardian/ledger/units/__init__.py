"""Units of privacy: budgets, what they spent, and what that costs under other terms."""
