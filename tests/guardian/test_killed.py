"""A served guardian killed by SIGKILL at the worst moments of a release, over real mTLS."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from ostraka.deploy.simulation.processes import ChildCommand, Start, Supervisor
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.federation import Calls, Federation, refusal, unanimous

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A server that dies while a caller looks why it does not answer leaves Python's ssl a socket to collect."""

READY_S = 120.0


@contextmanager
def mortal_guardian(federation: Federation, moment: str, start: Start) -> Iterator[Calls]:
    """Run a guardian process that dies at its first release, before or after the answer is stored."""
    site = federation.guardian_folder
    ready = site / "ready.json"
    dying = partial(start, entry="tests.guardian.mortal:main")
    with Supervisor(site / "logs", start=dying) as processes:
        child = processes.start(ChildCommand("guardian", [moment, str(site), str(ready)]))
        calls = Calls(federation, processes.wait_ready(child, ready, READY_S))
        try:
            yield calls
        finally:
            calls.close()


@pytest.mark.parametrize("moment", ["unstored", "stored"])
def test_a_release_is_all_or_nothing(tmp_path: Path, start: Start, moment: str) -> None:
    federation = Federation(tmp_path)
    with mortal_guardian(federation, moment, start) as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20, label=2))
        assert refusal(lambda: guardian.release(session, 1, total)) == "server.unreachable"
    with federation.guardian() as guardian:
        if moment == "stored":
            spent = guardian.spent()
            assert spent > 0
            assert guardian.release(session, 1, total) == [(True, 2)] * 20
            assert guardian.spent() == spent
        else:
            assert refusal(lambda: guardian.release(session, 1, total)) == "batch.dead"
            (budget,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a"))
            assert (budget.epsilon_worst_case, budget.epsilon_reserved) == (0, 0)
