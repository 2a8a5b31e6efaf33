"""Parties that have not answered yet, when they are too late to be waited for, and who was last.

Some parties may have agreed to answer late, or not at all. So how long the last ones are waited for follows
from when a **quorum** was in, and from no later answer. Let q be that time, w what is waited in any case, and
x when the ticket ends: a batch ends once all have answered, at the latest at min(x, max(w, 2q)).

Whatever colluders do, a batch that the others answer as a quorum, at q', ends within twice max(w, b), where b
is its end without the colluders:

- q <= q': more answers make no quorum come later. (Where some abstain from a label on which nobody has voted
  yet, they may: it then asks for a quorum of its own. The ticket's end is the bound there.)
- b >= min(q', x), as nothing but a quorum, or the ticket's end, ends a wait.
- So the end is at most min(x, max(w, 2q)) <= min(x, max(w, 2q')) <= 2 max(w, b).

Where colluders stay silent the batch ends at min(x, max(w, 2q')): by answering they cannot make it later.
Without others that are a quorum a batch comes about by the colluders alone, and ends with its ticket.

Had the wait followed from who answered last, each colluder could have it begin anew. No honest party is cut
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
"""After the time to wait is over: how often to look whether those that answered are enough."""
TIMES_QUORUM = 2
"""How many times as long as a quorum took one may take: what a silent party can make of a batch."""


@dataclass(frozen=True)
class Patience:
    """How long the last parties are waited for.

    Attributes:
        wait_s: seconds that all are waited for in any case.
        enough: whether those that answered are a quorum, without which the wait goes on.
        most_s: seconds after which nobody is waited for.
    """

    wait_s: float = threading.TIMEOUT_MAX
    enough: Callable[[Collection[str]], bool] = lambda _: False
    most_s: float = math.inf

    @classmethod
    def of(cls, ticket: Ticketed, session: Granted, clock: Clock) -> Self:
        """Return the patience until the guardian freezes the set, by clocks that may be off, and a quorum.

        Once the ticket has ended the guardian freezes nothing, so that nothing is waited for.
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
    """Notes which parties answered, and decides when the rest are too late; thread-safe."""

    def __init__(self, patience: Patience = Patience(), timer: Callable[[], float] = time.monotonic) -> None:
        self._patience = patience
        self._timer = timer
        self._began = timer()
        self._quorum_s = math.inf
        self._answered: list[tuple[str, float]] = []
        self._cut: list[str] = []

    def note_answer(self, site: str) -> None:
        """Note that a party answered."""
        self._answered.append((site, self._seconds()))

    def note_cut(self, site: str) -> None:
        """Note that a party was too late."""
        self._cut.append(site)

    @property
    def look_s(self) -> float:
        """After how many seconds to look next whether the wait is over."""
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
        """Return after how many seconds those that had answered were a quorum; infinity: they are none yet.

        It is looked for only once the time to wait is over, because many parties take long to be counted.
        """
        sites = [site for site, _ in self._answered]
        times = [0.0, *(at for _, at in self._answered)]
        if not self._patience.enough(sites):
            return math.inf
        return times[bisect_left(range(len(times)), True, key=lambda n: self._patience.enough(sites[:n]))]

    def _seconds(self) -> float:
        return self._timer() - self._began


def late(site: str) -> OstrakaError:
    """Return why a party is left out that was cut off."""
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        f"Party {site} had not answered when the batch's time was over: it is left "
        "out; look at its log, or raise freeze_after_s in the guardian's policy.",
    )
