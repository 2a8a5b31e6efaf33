"""The guardian of a year: the real coordinator over the real ledger, which may die at any statement."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.ledger import Ledger, LedgerReader, backup, restore
from ostraka.guardian.ledger.site import seal_of
from ostraka.guardian.members.registration import Registrar
from ostraka.guardian.noise import NoisePrefetcher
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions import Coordinator
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.dying import dying
from tests.chaos.guardians import CIPHER, MOST_STATEMENTS, Where
from tests.chaos.members import CheapNoise, FixedPolicy
from tests.chaos.places import Place
from tests.chaos.turns import Killed

T = TypeVar("T")


class DiedError(Exception):
    """The guardian died, or another one took over; a new guardian is running."""


class _NoFigures:
    """Refuses to compute data-dependent costs, because every session is charged the worst case."""

    def add(self, *_: Any) -> None:
        raise AssertionError("a session is charged on its votes")


class Guardian:
    """Guardian processes on one ledger, one after the other."""

    def __init__(
        self, draws: random.Random, clock: ManualClock, place: Place, credentials: Credentials, policy: Policy
    ) -> None:
        self.credentials = credentials
        self.policy = policy
        self.where: Where = place()
        self._place = place
        self._draws = draws
        self._clock = clock
        self._calls_left = 0
        self._superseded = False
        self._serve(self._open())

    def call(self, work: Callable[[Guardian], T]) -> T:
        """Return the result of `work`.

        Raises:
            DiedError: the guardian died before, during or after it.
        """
        self._calls_left -= 1
        doomed = self._calls_left == 0
        if doomed and self._superseded:
            self._next = self._open()
        within = doomed and not self._superseded and self._draws.random() < 0.8
        at = self._draws.randint(1, MOST_STATEMENTS) if within else -1
        try:
            with dying(at, lambda: None):
                result = work(self)
        except Killed:
            self._restart()
            raise DiedError from None
        except OstrakaError as exc:
            if exc.code is not ErrorCode.LEDGER_FENCED:
                raise
            self.ledger.close()
            self._serve(self._next)
            raise DiedError from None
        if doomed and not within:
            self._restart()
            raise DiedError
        return result

    def insist(self, work: Callable[[Guardian], T]) -> T:
        """Return the result of `work` from the first guardian that lives long enough."""
        while True:
            try:
                return self.call(work)
            except DiedError:
                continue

    def doom(self, calls: int, *, superseded: bool) -> None:
        """Let this process die, or another one take over its ledger, within the next calls."""
        self._calls_left = self._draws.randint(1, calls)
        self._superseded = superseded

    def rotate(self, credentials: Credentials) -> None:
        """Restart with new keys."""
        self.credentials = credentials
        self._restart()

    def save(self, path: Path) -> None:
        """Back up the ledger."""
        path.unlink(missing_ok=True)
        with LedgerReader.open_read_only(self.where) as ledger:
            backup(ledger, path)

    def lose(self, saved: Path) -> None:
        """Lose the ledger and restore a backup."""
        self.ledger.close()
        self.where = self._place()
        restore(saved, self.where, clock=self._clock, cipher=CIPHER, sign_head=self._sign)
        self._serve(self._open())

    def close(self) -> None:
        """Stop."""
        self.ledger.close()

    def _restart(self) -> None:
        self.ledger._storage.close()
        self._serve(self._open())

    def _open(self) -> Ledger:
        return Ledger.open(
            self.where,
            clock=self._clock,
            cipher=CIPHER,
            sign_head=self._sign,
            seal=seal_of(self.credentials, self._clock),
            address="guardian",
        )

    def _serve(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._superseded = False
        policies = FixedPolicy(self.policy)
        noise = cast(NoisePrefetcher, CheapNoise(self._draws.getrandbits(64)))
        self.coordinator = Coordinator(
            ledger, self.credentials, policies, self._clock, noise, cast(Any, _NoFigures())
        )
        self.registrar = Registrar(ledger, self.credentials, policies, self._clock)

    def _sign(self, payload: bytes) -> common_pb2.Signed:
        return self.credentials.sign(AUDIT_CONTEXT, payload)
