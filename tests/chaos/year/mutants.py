"""Deliberate faults that a short year must find."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ostraka.guardian.ledger import budgets
from ostraka.guardian.sessions import eligibility
from tests.chaos.mutants import Mutant, forgives_what_was_forgotten

DAYS, SITES = 20, 10


@contextmanager
def renews_and_forgets() -> Iterator[None]:
    """Make a renewed budget forget what its earlier periods spent."""
    honest = budgets._renewed

    def renewed(tx: Any, row: Any) -> dict[str, Any]:
        return honest(tx, row) | {"spent_before": row.spent_before}

    with mock.patch.object(budgets, "_renewed", renewed):
        yield


@contextmanager
def asks_the_withdrawn() -> Iterator[None]:
    """Let batches be asked of everybody, also of groups that are withdrawn or frozen."""
    with mock.patch.object(eligibility, "_willing", return_value=True):
        yield


MUTANTS: list[Mutant] = [renews_and_forgets, asks_the_withdrawn, forgives_what_was_forgotten]
