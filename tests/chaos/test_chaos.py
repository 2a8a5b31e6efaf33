"""The short version of `make chaos`."""

from pathlib import Path

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.chaos.kill import besiege
from tests.chaos.mutants import Mutant, charges_the_absent, found, keeps_reservations_at_recovery
from tests.chaos.simulate import simulate

# A guardian that dies within a transaction leaves its cursors open, as a killed process does.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.mark.heavy
@pytest.mark.parametrize(("backend", "schedules"), [("sqlite", 4), ("postgresql", 2)])
def test_whatever_goes_wrong_every_unit_spent_what_its_answers_cost(backend: str, schedules: int) -> None:
    answered = 0
    for simulation in simulate(backend, range(schedules)):
        assert not simulation.problems, "\n".join(
            [*simulation.events, f"seed {simulation.seed}", *simulation.problems]
        )
        answered += simulation.answered
    assert answered > schedules


@pytest.mark.heavy
@pytest.mark.parametrize("mutant", [keeps_reservations_at_recovery, charges_the_absent])
def test_the_schedules_find_a_planted_fault(mutant: Mutant) -> None:
    assert found(mutant, most=40) is not None


@pytest.mark.heavy
def test_a_guardian_killed_over_and_over_charges_every_answer_once(tmp_path: Path, start: Start) -> None:
    siege = besiege(tmp_path, 3, 1, start)
    assert siege.kills == 3
    assert siege.problems() == []
