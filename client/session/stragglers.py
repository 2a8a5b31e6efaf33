"""Parties that have not answered yet, and when they are too late to be waited for."""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self

from ostraka.client.session.batch import Granted, Ticketed
from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError

LOOK_EVERY_S = 0.1
"""After the time to wait is over: how often to look whether those that answered are enough."""
SLOWER = 4
"""How many times as long as the slowest that answered one may take, so that slow work cuts nobody off."""


@dataclass(frozen=True)
class Patience:
    """How long the last parties are waited for: `wait_s` seconds, and until the others are `enough`."""

    wait_s: float = threading.TIMEOUT_MAX
    enough: Callable[[Collection[str]], bool] = lambda _: False

    @classmethod
    def of(cls, ticket: Ticketed, session: Granted, clock: Clock) -> Self:
        """Return the patience until the guardian freezes the set, by clocks that may be off, and a quorum."""
        frozen_at, quorum = ticket.read.freeze_unix_ms / 1000, session.plan.quorum
        left_s = frozen_at + session.grant.allowed_skew_s - clock.now()
        return cls(max(0.0, left_s), lambda answered: ticket.fewest(answered) >= quorum)


class Waiting:
    """Notes who answered, and says when the others are too late; may be told from any thread."""

    def __init__(self, patience: Patience, timer: Callable[[], float] = time.monotonic) -> None:
        """Begin to wait now."""
        self._patience = patience
        self._timer = timer
        self._began = timer()
        self._slowest_s = 0.0
        self._answered: list[str] = []

    def answered(self, site: str) -> None:
        """Note that a party answered."""
        self._slowest_s = self._elapsed_s()
        self._answered.append(site)

    @property
    def look_s(self) -> float:
        """After how many seconds to look next whether the wait is over."""
        return max(LOOK_EVERY_S, self._patience.wait_s - self._elapsed_s())

    @property
    def over(self) -> bool:
        """Whether those that have not answered are too late."""
        until = max(self._patience.wait_s, SLOWER * self._slowest_s)
        return self._elapsed_s() >= until and self._patience.enough(tuple(self._answered))

    def _elapsed_s(self) -> float:
        return self._timer() - self._began


def late(site: str) -> OstrakaError:
    """Return why a party is left out that was cut off."""
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        f"Party {site} had not answered when the batch's time was over and enough others had: it is left "
        "out; look at its log, or raise freeze_after_s in the guardian's policy.",
    )
