"""Kept totals are looked up in parts, because a statement takes so many parameters and no more."""

from ostraka.guardian.ledger.units import kept_totals


def test_a_statement_has_so_many_kept_totals_and_no_more() -> None:
    rows = range(kept_totals._BATCHES_AT_ONCE + 1)
    assert [len(part) for part in kept_totals._parts(rows)] == [kept_totals._BATCHES_AT_ONCE, 1]
    assert [len(part) for part in kept_totals._parts(rows[:-1])] == [kept_totals._BATCHES_AT_ONCE]
