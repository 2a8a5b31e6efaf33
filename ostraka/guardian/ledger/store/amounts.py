"""Amounts that the ledger adds up, in whole AMOUNT_UNIT of rdp."""

AMOUNT_MAX = 2**62
"""Amounts are capped at this value (about 4.6 million of rdp), so that sums fit the database's integers."""


def check_amount(name: str, value: int) -> None:
    """Raise ValueError unless `value` is an integer amount of 0 or more."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{name}: must be a whole amount of 0 or more, is {value!r}")


def add(total: int, amount: int) -> int:
    """Return the sum of two amounts, capped at AMOUNT_MAX."""
    return min(total + amount, AMOUNT_MAX)


def overdrawn(committed: int, budget: int) -> int:
    """Return `overdrawn_to` for a new `budget` with `committed` spent or reserved."""
    return committed if committed > budget else 0
