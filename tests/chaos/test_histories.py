"""Some random histories, and those that show each planted fault."""

import pytest

from tests.chaos.histories.faults import SHOWN_BY, found
from tests.chaos.histories.history import histories
from tests.chaos.mutants import Mutant

HISTORIES = 30
"""Enough to notice a mistake before `make chaos`, which runs thousands, at a tenth of a second each."""
AT_ONCE = 5
LONGEST = 10


@pytest.mark.parametrize("first", range(0, HISTORIES, AT_ONCE))
def test_every_record_has_paid_for_what_it_took_part_in(first: int) -> None:
    for history in histories("sqlite", range(first, first + AT_ONCE), LONGEST):
        assert not history.problems, "\n".join([f"seed {history.seed}", *history.events, *history.problems])


@pytest.mark.parametrize("fault", SHOWN_BY, ids=lambda fault: fault.__name__)
def test_a_history_shows_each_planted_fault(fault: Mutant) -> None:
    assert found(fault, SHOWN_BY[fault], most=1) is not None
