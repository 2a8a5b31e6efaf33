"""Planted faults that histories must find; each lasts as long as its block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from ostraka.common.privacy import filters
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.guardian.ledger.store.values import UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import carry_over, kept_totals, repricing
from ostraka.guardian.ledger.units.repricing import Raises
from ostraka.guardian.sessions import batch_opening
from tests.chaos.histories.history import History, histories
from tests.chaos.mutants import Mutant

MOST = 400
"""Number of histories within which a fault must show."""


@contextmanager
def reprices_publications_for_any_votes() -> Iterator[None]:
    """Also change a publication's price when votes per person are raised."""

    def price(connection: Any, asked: repricing.Repriced) -> Iterator[int | None]:
        return repricing._publications(connection, replace(asked, raises=Raises(())))

    with mock.patch.object(repricing, "RULES", {**repricing.RULES, "publication": price}):
        yield


@contextmanager
def charges_publications_to_groups_that_are_gone() -> Iterator[None]:
    """Charge a publication to the units charged for its batches, but not to their heirs."""
    with mock.patch.object(carry_over, "heirs_of", return_value=set()):
        yield


@contextmanager
def spares_labels_that_inherited() -> Iterator[None]:
    """Make label budgets that were set after a batch pay nothing for publications of it."""
    honest = carry_over.heirs_of

    def heirs_of(connection: Any, paid: Mapping[UnitKey, int]) -> set[UnitKey]:
        return {unit for unit in honest(connection, paid) if unit.adjacency == "record"}

    with mock.patch.object(carry_over, "heirs_of", heirs_of):
        yield


@contextmanager
def publishes_votes_that_others_raised() -> Iterator[None]:
    """Include in a total batches whose other parties have since raised their votes per person."""
    with mock.patch.object(kept_totals, "_overtaken", return_value=set()):
        yield


@contextmanager
def recosts_what_was_spent_alone() -> Iterator[None]:
    """Skip units that only an open batch will charge when votes are raised."""
    honest = repricing._change

    def change(tx: Any, row: Any, votes: int) -> dict[str, object]:
        unchanged = {"unit": row.id, **{name: getattr(row, name) for name in _CHANGED}}
        return honest(tx, row, votes) if row.spent + row.spent_before else unchanged

    with mock.patch.object(repricing, "_change", change):
        yield


_CHANGED = ("spent", "overdrawn_to", "data_dependent", "broken_unix_ms")


@contextmanager
def forgets_raises_at_larger_orders() -> Iterator[None]:
    """Recompute inherited cost at a larger order with the votes that tickets state."""
    honest = repricing.spent_at

    def spent_at(connection: Any, party: str, adjacency: str, order: float, votes: int = 1) -> int | None:
        with mock.patch.object(Raises, "of", return_value=Raises(())):
            return honest(connection, party, adjacency, order, votes)

    with mock.patch.object(carry_over, "spent_at", spent_at):
        yield


@contextmanager
def publishes_what_was_read_before() -> Iterator[None]:
    """Store a publication as it was drawn, whatever happened since its total was read."""
    honest, drawn = kept_totals.total_of, dict[UnitKey, Any]()

    def total_of(view: Any, unit: UnitKey) -> Any:
        if not isinstance(view, Transaction):
            drawn[unit] = honest(view, unit)
        return drawn[unit]

    with mock.patch.object(kept_totals, "total_of", total_of):
        yield


@contextmanager
def tickets_without_budgets_set_meanwhile() -> Iterator[None]:
    """Reserve only from units that had a budget before the ticket was made."""
    with mock.patch.object(batch_opening, "_find_without_budget", return_value=set()):
        yield


@contextmanager
def takes_over_amounts_of_another_filter() -> Iterator[None]:
    """Carry amounts added up by a Renyi filter over to a Gaussian filter, and the reverse."""
    honest = filters.holds_at

    def holds_at(charged: float, order: float) -> bool:
        return GAUSSIAN in {charged, order} or honest(charged, order)

    with mock.patch.object(carry_over, "holds_at", holds_at):
        yield


SHOWN_BY: dict[Mutant, int] = {
    reprices_publications_for_any_votes: 2036,
    charges_publications_to_groups_that_are_gone: 44,
    spares_labels_that_inherited: 50010,
    publishes_votes_that_others_raised: 111,
    recosts_what_was_spent_alone: 18,
    forgets_raises_at_larger_orders: 78,
    publishes_what_was_read_before: 432,
    tickets_without_budgets_set_meanwhile: 29,
    takes_over_amounts_of_another_filter: 2,
}
"""Each fault, and the first seed known to show it."""


def found(fault: Mutant, first: int = 0, most: int = MOST) -> History | None:
    """Return the first history that shows a fault; None if none of `most` histories does."""
    with fault():
        found_in = histories("sqlite", range(first, first + most), shorten=most > 1)
        return next((history for history in found_in if history.problems), None)
