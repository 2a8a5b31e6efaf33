"""Where a ledger lies: databases, tables and the values in them."""
