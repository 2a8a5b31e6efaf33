"""Planted faults that the schedules must find: `python -m tests.chaos.mutants`.

Each one breaks a promise of the ledger (docs/budgets.md#what-the-ledger-promises) in the code under test, for
as long as its block lasts.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Annotated, Any
from unittest import mock

import typer

from ostraka.guardian.ledger import reconcile, replicas
from ostraka.guardian.ledger.sessions import batches, endings, evaluations, releases
from ostraka.guardian.sessions.batch import Batch, Collecting, Drawn, Frozen, Summed
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.coordinator import Coordinator
from tests.chaos.simulate import simulate

MOST = 400
"""Number of schedules within which a fault must show."""


def like(module: Any, **changes: Any) -> SimpleNamespace:
    """Return a changed copy of `module`, to put in its place in one of its importers."""
    return SimpleNamespace(**{**vars(module), **changes})


@contextmanager
def charges_a_retry() -> Iterator[None]:
    """Skip the check at a release whether the batch was answered before."""
    with mock.patch.object(batches, "answers_of", return_value=None):
        yield


@contextmanager
def answers_before_the_commit() -> Iterator[None]:
    """Send the answer before it is stored with its charge."""
    honest = Coordinator._release

    def hasty(self: Coordinator, session: Any, batch: Batch, *rest: Any) -> bytes:
        try:
            return honest(self, session, batch, *rest)
        except BaseException:
            if not isinstance(batch.state, Drawn):
                raise
            return batch.state.outcome.answers

    with mock.patch.object(Coordinator, "_release", hasty):
        yield


@contextmanager
def keeps_reservations_at_recovery() -> Iterator[None]:
    """Leave the last guardian's batches open when a new guardian takes over the ledger."""
    with mock.patch.object(replicas, "endings", like(endings, bury=lambda *_: [], bury_all=lambda *_: [])):
        yield


@contextmanager
def settles_without_a_tombstone() -> Iterator[None]:
    """Allow the release of a batch reported dead: neither the ledger nor memory records its death."""

    def settle(self: Coordinator, session_id: str, batch_id: int) -> bytes | None:
        return self._ledger.write_session(session_id, endings.settle, batch_id)

    unburied = mock.patch.object(endings, "kill", return_value=None)
    with unburied, mock.patch.object(Coordinator, "_settle", settle):
        yield


@contextmanager
def forgets_what_was_evaluated() -> Iterator[None]:
    """Give back the whole reservation when a batch dies, whatever parties have evaluated of it."""
    with mock.patch.object(endings, "evaluations", like(evaluations, charge_all=lambda *_: None)):
        yield


@contextmanager
def charges_the_absent() -> Iterator[None]:
    """Also charge parties whose shares came too late."""
    with mock.patch.object(Attendance, "of", lambda self, _: self):
        yield


@contextmanager
def freezes_again() -> Iterator[None]:
    """Let a second Prepare freeze another party set."""
    honest = Batch.freeze

    def freeze(self: Batch, *args: Any, **named: Any) -> Any:
        if isinstance(self.state, Frozen):
            shares, refused = dict(self.state.shares), self.state.refused
            self.state = Collecting(shares, refused, noted=refused)
        return honest(self, *args, **named)

    with mock.patch.object(Batch, "freeze", freeze):
        yield


@contextmanager
def forgives_what_was_forgotten() -> Iterator[None]:
    """Accept the parties' receipts at a restored ledger without charging any."""
    with mock.patch.object(reconcile, "_find_forgotten", return_value=[]):
        yield


@contextmanager
def charges_every_receipt() -> Iterator[None]:
    """Charge receipts of batches again that were released or died here."""
    with mock.patch.object(reconcile, "_find_forgotten", lambda _, owed, lost: list(owed)):
        yield


@contextmanager
def forgets_its_outcome() -> Iterator[None]:
    """Draw noise again for a retry, and store the last answer in place of the first."""
    honest = releases.release

    def release(
        tx: Any, session: Any, batch_id: int, digest: bytes, answers: bytes, *rest: Any, **named: Any
    ) -> Any:
        row = batches.find(tx.connection, session.session_id, batch_id)
        if row is not None and row.state == "released":
            return answers
        return honest(tx, session, batch_id, digest, answers, *rest, **named)

    summed = Batch._sum

    def forgetful(self: Batch, request: Any) -> Any:
        if isinstance(self.state, Drawn):
            drawn = self.state
            self.state = Summed(drawn.parties, drawn.shares, drawn.refused, drawn.request)
        return summed(self, request)

    with mock.patch.object(releases, "release", release), mock.patch.object(Batch, "_sum", forgetful):
        yield


Mutant = Callable[[], Any]
MUTANTS: list[Mutant] = [
    charges_a_retry,
    answers_before_the_commit,
    keeps_reservations_at_recovery,
    settles_without_a_tombstone,
    forgets_what_was_evaluated,
    charges_the_absent,
    freezes_again,
    forgives_what_was_forgotten,
    charges_every_receipt,
    forgets_its_outcome,
]


def found(mutant: Mutant, backend: str = "sqlite", most: int = MOST) -> tuple[int, str] | None:
    """Return the first seed whose schedule shows a fault, and the problem; None if no schedule does."""
    with mutant():
        for simulation in simulate(backend, range(most)):
            if simulation.problems:
                return simulation.seed, simulation.problems[0]
    return None


def main(most: Annotated[int, typer.Option(min=1)] = MOST) -> None:
    """Plant every fault in turn; the exit status is 1 where the schedules missed one."""
    missed = False
    with ProcessPoolExecutor(2) as pool:
        for mutant, seen in zip(
            MUTANTS, pool.map(_found, range(len(MUTANTS)), [most] * len(MUTANTS)), strict=True
        ):
            missed |= seen is None
            how = "MISSED" if seen is None else f"seed {seen[0]}: {seen[1]}"
            print(f"{mutant.__name__:<34} {how}", flush=True)
    sys.exit(1 if missed else 0)


def _found(number: int, most: int) -> tuple[int, str] | None:
    return found(MUTANTS[number], most=most)


if __name__ == "__main__":
    typer.run(main)
