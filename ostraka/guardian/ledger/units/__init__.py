"""Units of privacy: budgets, spending, and its cost under other terms."""
