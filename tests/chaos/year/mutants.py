"""Planted faults that a short year must find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ostraka.guardian.ledger.units import budgets
from tests.chaos.mutants import Mutant, forgets_what_was_evaluated, forgives_what_was_forgotten

DAYS, SITES = 20, 10


@contextmanager
def renews_and_forgets() -> Iterator[None]:
    """Make a renewed budget forget what its earlier periods spent."""
    honest = budgets._renewal_of

    def renewed(tx: Any, row: Any) -> dict[str, Any]:
        return honest(tx, row) | {"spent_before": row.spent_before}

    with mock.patch.object(budgets, "_renewal_of", renewed):
        yield


SHOWN_BY: dict[Mutant, int] = {
    renews_and_forgets: 2,
    forgets_what_was_evaluated: 2,
    forgives_what_was_forgotten: 2,
}
"""The seed of a year that shows each."""
