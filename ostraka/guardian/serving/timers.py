"""Timers of a guardian: renew its lease, end old batches, drop old answers, take newer revocation lists."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import structlog

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.revocation import Revocations
from ostraka.guardian.ledger import Ledger, LedgerReader
from ostraka.guardian.ledger.ledger import LEASE_S
from ostraka.guardian.ledger.members import revocations as applied_revocations
from ostraka.guardian.ledger.sessions.forgetting import drop_answers
from ostraka.guardian.policy import Policies

INTERVAL_S = LEASE_S / 3


@contextmanager
def _repeat(name: str, interval_s: float, act: Callable[[], bool]) -> Iterator[None]:
    """Call `act` in a thread every `interval_s` seconds within the block, as long as it returns True."""
    done = threading.Event()

    def run() -> None:
        while not done.wait(interval_s) and act():
            pass

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def beating(
    ledger: Ledger,
    superseded: Callable[[], object],
    *,
    interval_s: float = INTERVAL_S,
    told: Callable[[bool], object] = lambda held: None,
) -> AbstractContextManager[None]:
    """Renew the lease every `interval_s` seconds within the block; call `superseded` when it is lost.

    `told` is called each time with whether the lease was renewed.
    """

    def beat() -> bool:
        held = _renew(ledger, told)
        if not held:
            superseded()
        return held

    return _repeat("heartbeat", interval_s, beat)


def _renew(ledger: Ledger, told: Callable[[bool], object]) -> bool:
    """Return whether this guardian may still have the lease; an unavailable database may come back."""
    log = structlog.get_logger()
    try:
        ledger.renew_lease()
    except OstrakaError as exc:
        told(False)
        if exc.code == ErrorCode.LEDGER_FENCED:
            log.error("guardian.superseded", reason=exc.message)
            return False
        log.warning("guardian.lease_not_renewed", code=exc.code, reason=exc.message)
    else:
        told(True)
    return True


SWEEP_INTERVAL_S = 5.0


def sweeping(
    expire: Callable[[], object], *, interval_s: float = SWEEP_INTERVAL_S
) -> AbstractContextManager[None]:
    """Call `expire` every `interval_s` seconds within the block; an unavailable ledger is tried again."""

    def sweep() -> bool:
        try:
            expire()
        except OstrakaError as exc:
            structlog.get_logger().warning("guardian.batches_not_expired", code=exc.code)
        return True

    return _repeat("sweep", interval_s, sweep)


FORGET_INTERVAL_S = 3600.0
"""Rare, because answers are kept for days."""


class Forgetter:
    """Drops answers after the policy's retention time; it looks at each past time once.

    After a clock ran ahead and is right again, it starts again from the right time.
    """

    def __init__(self, ledger: Ledger, policies: Policies, clock: Clock) -> None:
        self._ledger = ledger
        self._policies = policies
        self._clock = clock
        self._since_ms = 0

    def forget(self) -> None:
        """Drop the answers that are old enough now."""
        kept_ms = self._policies.current().keep_answers_ms
        if kept_ms is None:
            return
        before = int(self._clock.now() * 1000) - kept_ms
        while (last := self._ledger.write(drop_answers, before, self._since_ms).last_unix_ms) is not None:
            self._since_ms = last
        self._since_ms = before


def forgetting(
    forget: Callable[[], object], *, interval_s: float = FORGET_INTERVAL_S
) -> AbstractContextManager[None]:
    """Call `forget` every `interval_s` seconds within the block; an unavailable ledger is tried again."""

    def act() -> bool:
        try:
            forget()
        except OstrakaError as exc:
            structlog.get_logger().warning("guardian.answers_not_dropped", code=exc.code)
        return True

    return _repeat("forget", interval_s, act)


FOLLOW_INTERVAL_S = 5.0


class Follower:
    """Puts into force the revocation lists in the audit log, reading each of its rows once."""

    def __init__(self, ledger: LedgerReader, revocations: Revocations) -> None:
        self._ledger = ledger
        self._revocations = revocations
        self._row = 0

    def follow(self) -> None:
        """Take every new list; one that is older, or from a former CA, changes nothing."""
        applied = self._ledger.read(applied_revocations.after, self._row)
        for pem in applied.pems:
            self._take(pem)
        self._row = applied.row

    def _take(self, pem: bytes) -> None:
        try:
            self._revocations.accept(pem)
        except OstrakaError as exc:
            structlog.get_logger().info("guardian.revocations_passed_over", code=exc.code)


def following(
    ledger: LedgerReader, revocations: Revocations, *, interval_s: float = FOLLOW_INTERVAL_S
) -> AbstractContextManager[None]:
    """Take lists at once, and every `interval_s` seconds within the block."""
    follower = Follower(ledger, revocations)
    # Before the server starts: a certificate that was revoked elsewhere must not be admitted again.
    follower.follow()

    def follow() -> bool:
        try:
            follower.follow()
        except OstrakaError as exc:
            structlog.get_logger().warning("guardian.revocations_not_read", code=exc.code)
        return True

    return _repeat("revocations", interval_s, follow)
