"""Takes the revocation lists that other replicas of the guardian left in the ledger."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from ostraka.common.errors import OstrakaError
from ostraka.common.identity.revocation import Revocations
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.members import revocations as applied_revocations

INTERVAL_S = 5.0


class Follower:
    """Puts into force what the audit log holds, reading each of its rows once."""

    def __init__(self, ledger: LedgerReader, revocations: Revocations) -> None:
        """Take where lists are found and where they come into force."""
        self._ledger = ledger
        self._revocations = revocations
        self._row = 0

    def follow(self) -> None:
        """Take every list that is new there; one that is older, or of a former CA, changes nothing."""
        applied = self._ledger.read(applied_revocations.after, self._row)
        for pem in applied.pems:
            self._take(pem)
        self._row = applied.row

    def _take(self, pem: bytes) -> None:
        try:
            self._revocations.accept(pem)
        except OstrakaError as exc:
            structlog.get_logger().info("guardian.revocations_passed_over", code=exc.code)


@contextmanager
def following(
    ledger: LedgerReader, revocations: Revocations, *, interval_s: float = INTERVAL_S
) -> Iterator[None]:
    """Take lists at once, and every `interval_s` seconds within the block."""
    done, follower = threading.Event(), Follower(ledger, revocations)
    follower.follow()

    def keep_following() -> None:
        while not done.wait(interval_s):
            try:
                follower.follow()
            except OstrakaError as exc:
                structlog.get_logger().warning("guardian.revocations_not_read", code=exc.code)

    thread = threading.Thread(target=keep_following, name="revocations", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
