"""Takes the revocation lists that other replicas of the guardian left in the ledger."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import structlog

from common.errors import OstrakaError
from common.identity.revocation import Revocations
from guardian.ledger import LedgerReader

INTERVAL_S = 5.0


class Follower:
    """Puts into force what the audit log holds, reading each of its rows once."""

    def __init__(self, ledger: LedgerReader, revocations: Revocations) -> None:
        """Take where lists are found and where they come into force."""
        self._ledger = ledger
        self._revocations = revocations
        self._row = 0

    def follow(self) -> None:
        """Take the newest list; one that is older than what is in force changes nothing."""
        applied = self._ledger.revocations_after(self._row)
        if applied.number > self._revocations.number:
            self._revocations.accept(applied.pem)
        self._row = applied.row


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
