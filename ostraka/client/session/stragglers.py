"""When parties that have not answered yet are too late, and which party was last.

Some parties may collude to answer late, or not at all. So the time limit depends only on when a **quorum**
was in, not on later answers. Let q be that time, w the time that is waited in any case, and x the end of the
ticket: a batch ends once all have answered, at the latest at min(x, max(w, 2q)).

Let q' be the time at which the other parties alone are a quorum, and b the end of the batch without the
colluders. Whatever the colluders do, the batch ends within twice max(w, b):

- q <= q': more answers never delay the quorum. (Exception: if some parties abstain from a label that nobody
  has voted on yet, more answers may delay it, because that label then needs a quorum too. Then the end of the
  ticket is the bound.)
- b >= min(q', x), because only a quorum or the end of the ticket ends a wait.
- So the end is at most min(x, max(w, 2q)) <= min(x, max(w, 2q')) <= 2 max(w, b).

If colluders stay silent, the batch ends at min(x, max(w, 2q')): answering cannot make it later. If the other
parties are no quorum, the batch needs the colluders, and ends with its ticket.

If the limit depended on the last answer, each colluder could restart the wait. An honest party is never cut
off before w, which the guardian's policy sets (`freeze_after_s` and the allowed skew), nor before twice the
time that the quorum took.
"""

import math
import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Self

from ostraka.client.session.batch import Granted, Ticketed
from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError

LOOK_EVERY_S = 0.1
"""How often to check for a quorum once the waiting time is over."""
TIMES_QUORUM = 2
"""The time limit as a multiple of the quorum's time: how much a silent party can delay a batch."""


@dataclass(frozen=True)
class Patience:
    """How long to wait for the last parties.

    Attributes:
        wait_s: seconds to wait for all parties in any case.
        enough: whether the parties that answered are a quorum; the wait continues until they are.
        most_s: seconds after which the wait ends in any case.
    """

    wait_s: float = threading.TIMEOUT_MAX
    enough: Callable[[Collection[str]], bool] = lambda _: False
    most_s: float = math.inf

    @classmethod
    def of(cls, ticket: Ticketed, session: Granted, clock: Clock) -> Self:
        """Return the patience until the guardian freezes the set, clock skew allowed, and a quorum is in.

        After the ticket has ended, the guardian freezes nothing, so the wait ends.
        """
        now = clock.now()
        quorum = session.plan.quorum
        frozen_at = ticket.read.freeze_unix_ms / 1000
        ended_at = ticket.read.expires_unix_ms / 1000
        return cls(
            max(0.0, frozen_at + session.grant.allowed_skew_s - now),
            lambda answered: ticket.fewest(answered) >= quorum,
            max(0.0, ended_at - now),
        )


class Waiting:
    """Records which parties answered, and decides when the others are too late; thread-safe."""

    def __init__(self, patience: Patience = Patience(), timer: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._timer = timer
        self._began = timer()
        self._quorum_s = math.inf
        self._answered: list[tuple[str, float]] = []
        self._cut: list[str] = []

    def note_answer(self, site: str) -> None:
        """Record that a party answered."""
        self._answered.append((site, self._seconds()))

    def note_cut(self, site: str) -> None:
        """Record that a party was too late."""
        self._cut.append(site)

    @property
    def look_s(self) -> float:
        """Seconds until the next check whether the wait is over."""
        return max(LOOK_EVERY_S, min(self._patience.wait_s, self._patience.most_s) - self._seconds())

    @property
    def over(self) -> bool:
        """Whether the parties that have not answered are too late."""
        elapsed = self._seconds()
        if elapsed >= self._patience.most_s:
            return True
        if elapsed < self._patience.wait_s:
            return False
        if self._quorum_s == math.inf:
            self._quorum_s = self._find_quorum()
        return elapsed >= TIMES_QUORUM * self._quorum_s

    @property
    def last(self) -> tuple[str, ...]:
        """The slowest parties: those that were cut off, else the one that answered last."""
        if self._cut:
            return tuple(sorted(self._cut))
        return (self._answered[-1][0],) if len(self._answered) > 1 else ()

    def _find_quorum(self) -> float:
        """Return the time at which the answers were a quorum; infinity if they are not yet.

        Computed only once the waiting time is over, because counting many parties takes long.
        """
        sites = [site for site, _ in self._answered]
        times = [0.0, *(at for _, at in self._answered)]
        if not self._patience.enough(sites):
            return math.inf
        return times[bisect_left(range(len(times)), True, key=lambda n: self._patience.enough(sites[:n]))]

    def _seconds(self) -> float:
        return self._timer() - self._began


def late(site: str) -> OstrakaError:
    """Return the error of a party that was cut off."""
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        f"Party {site} had not answered when its time was over: it is left out; look at its log, or, for a"
        " batch, raise freeze_after_s in the guardian's policy.",
    )
