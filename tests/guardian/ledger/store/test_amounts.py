"""Amounts saturate, so that no sum of them is too large for a database."""

from ostraka.guardian.ledger.store.amounts import AMOUNT_MAX, add


def test_a_sum_is_exact_up_to_the_largest_amount_and_never_larger() -> None:
    assert add(AMOUNT_MAX - 2, 1) == AMOUNT_MAX - 1
    assert add(AMOUNT_MAX - 1, 1) == add(AMOUNT_MAX, 1) == add(AMOUNT_MAX, AMOUNT_MAX) == AMOUNT_MAX
