"""Keeps a guardian's lease on the ledger, and says when another guardian took over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import Ledger
from ostraka.guardian.ledger.ledger import LEASE_S

INTERVAL_S = LEASE_S / 3


@contextmanager
def beating(
    ledger: Ledger,
    superseded: Callable[[], object],
    *,
    interval_s: float = INTERVAL_S,
    told: Callable[[bool], object] = lambda held: None,
) -> Iterator[None]:
    """Renew the lease every `interval_s` seconds within the block; call `superseded` once it is lost.

    `told` is told each time whether the lease was renewed.
    """
    done = threading.Event()

    def beat() -> None:
        while not done.wait(interval_s):
            if not _renewed(ledger, told):
                superseded()
                return

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _renewed(ledger: Ledger, told: Callable[[bool], object]) -> bool:
    """Whether the lease may still be this guardian's; a database that is away may come back."""
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
