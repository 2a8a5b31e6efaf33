"""Short years: all that happens in one leaves the books as they must be, and a planted fault shows."""

import gc
import random
from collections.abc import Iterator
from unittest import mock

import pytest

from tests.chaos.mutants import Mutant
from tests.chaos.places import folder, places
from tests.chaos.year.mutants import DAYS, SHOWN_BY, SITES
from tests.chaos.year.simulation import Calendar, simulate

# A guardian that dies within a transaction leaves its cursors open, as a killed process does.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture(autouse=True)
def _nothing_left_to_others() -> Iterator[None]:
    """Collect what dead guardians left open while that is no warning, and not in another test."""
    yield
    gc.collect()


@pytest.mark.heavy
def test_every_day_of_a_year_the_ledger_holds_what_everybody_was_told() -> None:
    """In PostgreSQL: `make chaos` simulates a longer year in SQLite."""
    year = simulate(1, 12, SITES, "postgresql")
    assert year.problems == [], "\n".join([*year.events, *year.problems])
    assert year.count["charge"] > 50
    assert year.count["ledger restored"]


@pytest.mark.heavy
@pytest.mark.parametrize("mutant", SHOWN_BY)
def test_a_short_year_finds_a_planted_fault(mutant: Mutant) -> None:
    with mutant():
        assert simulate(SHOWN_BY[mutant], DAYS, SITES, "sqlite").problems


@pytest.mark.heavy
@pytest.mark.parametrize("change", ["votes", "group"])
def test_what_changed_records_took_over_survives_a_loss(change: str) -> None:
    draws = random.Random(3)  # noqa: S311
    with places("sqlite") as place, folder() as own:
        year = Calendar(draws, DAYS, 5, own, place)
        for site in year.sites:
            year.events.found(site)
        year.check()
        year.events.back_up()
        for _ in range(3):
            year.ask(year.sites)
        with mock.patch.object(draws, "choice", return_value=change):
            year.events.change_records(year.sites[0])
        year.check()
        year.events.lose()
        year.events.register(year.sites[0])
        year.check()
    assert year.books.problems == []
