"""Federations whose guardian keeps data-dependent costs, so that an epsilon can be published."""

from pathlib import Path

import pytest

from ostraka.common.mechanism import Confident, Mechanism
from ostraka.guardian.figures import figures
from ostraka.guardian.figures.process import Amounts, Job, compute_amounts
from tests.guardian.federation import Calls, Federation, plan, unanimous

POLICY = 'bound = "{bound}"\nmin_sigma = 0.5\nmin_quorum = 2\n'
CLEAR = Confident(sigma1=4.0, sigma2=3.0, threshold=15.0)
"""Thirty teachers that agree cost almost nothing under theorem6."""
QUERIES = 20


def release(guardian: Calls, batch: int, mechanism: Mechanism = CLEAR) -> None:
    """Release a batch of unanimous queries, in one session for all batches of a mechanism."""
    nonce = mechanism.kind.encode().ljust(16)[:16]
    session = guardian.open(plan(mechanism=mechanism, nonce=nonce, queries=3 * QUERIES)).session_id
    guardian.ticket(session, batch, QUERIES)
    guardian.release(session, batch, guardian.vote(session, batch, unanimous(QUERIES)))


def federation_of(root: Path, bound: str = "theorem6") -> Federation:
    """Return a federation whose guardian computes every data-dependent cost before it stops."""
    return Federation(root, policy=POLICY.format(bound=bound), votes_may_tell=True)


class InProcess:
    """Computes data-dependent costs in this process: starting another takes seconds."""

    def __init__(self, *, gives_way: bool) -> None:
        self._known: dict[int, Amounts] = {}

    def send(self, job: Job) -> None:
        self._known[job.number] = compute_amounts(job.costs)

    def collect(self, last: int, *, finish: bool) -> dict[int, Amounts]:
        return self._known

    def close(self) -> None:
        pass


def compute_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make guardians compute data-dependent costs in this process until the test is over."""
    monkeypatch.setattr(figures, "Computer", InProcess)
