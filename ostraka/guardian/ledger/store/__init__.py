"""Storage of a ledger: databases, tables and the values in them."""
