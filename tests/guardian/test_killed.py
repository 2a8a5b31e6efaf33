"""A served guardian killed by SIGKILL at the worst moments of a release, over real mTLS."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from protos.ostraka.v1 import admin_pb2
from tests.guardian.federation import Calls, Federation, refusal, unanimous

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
"""A server that dies while a caller looks why it does not answer leaves Python's ssl a socket to collect."""

MORTAL = """
import os, signal, sys, threading
from pathlib import Path
from guardian.ledger import Ledger
from guardian.server import running

moment, folder = sys.argv[1], Path(sys.argv[2])
stored = Ledger.release

def release(self, *words, **named):
    if moment == "stored":
        stored(self, *words, **named)
    os.kill(os.getpid(), signal.SIGKILL)

Ledger.release = release
with running(folder) as address:
    print(address, flush=True)
    threading.Event().wait()
"""


@contextmanager
def mortal_guardian(federation: Federation, moment: str) -> Iterator[Calls]:
    """A guardian process that dies at its first release, before or after the answer is stored."""
    command = [sys.executable, "-c", MORTAL, moment, str(federation.guardian_folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        calls = Calls(federation, process.stdout.readline().strip())
        try:
            yield calls
        finally:
            calls.close()
            process.kill()


@pytest.mark.parametrize("moment", ["unstored", "stored"])
def test_a_release_is_all_or_nothing(tmp_path: Path, moment: str) -> None:
    federation = Federation(tmp_path)
    with mortal_guardian(federation, moment) as guardian:
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
            (budget,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a")).budgets
            assert (budget.epsilon_worst_case, budget.epsilon_reserved) == (0, 0)
