"""When answers leave: at times that neither the votes nor the noise decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from common.mechanism import Mechanism, Powerset
from guardian.noise import draws_of
from guardian.noise.demand import Draw

_BATCH_S = 0.1
_DRAWN_S, _COUNTED_S, _LARGEST_S = 20e-6, 0.5e-6, 1e-3


def slot_s(mechanism: Mechanism, rows: int, classes: int, voters: int, accounting_s: float) -> float:
    """Return the seconds in which a batch of `rows` queries is released, a function of public values alone.

    Two or three times what the work takes on one core of 2020: noise drawn on the spot, sums, `accounting_s`
    (`guardian.sessions.effort`), and a start for the rest.
    """
    drawn_s = drawing_s(draws_of(mechanism, rows, classes, voters))
    counted = rows * mechanism.width(classes)
    largest = rows * isinstance(mechanism, Powerset) * _LARGEST_S
    return drawn_s + counted * _COUNTED_S + largest + accounting_s


def drawing_s(draws: Iterable[Draw]) -> float:
    """Return the seconds in which these draws are made and put to use, with a start for the rest."""
    return _BATCH_S + sum(draw.values for draw in draws) * _DRAWN_S


class Schedule:
    """Holds work that depends on votes until the end of a slot.

    Whoever waits for the batch sees it done at the first multiple of the slot, counted from when the work
    began, at which it was done. With a generous slot that is nearly always the first one, however long votes,
    accounting and sampling kept it busy. What it does not hide: that work went beyond its first slot, on a
    slow or busy machine or in a rare long draw, and into which one. Nor does it hide what follows, where
    nothing may depend on votes but the outcome itself: hold a release before it is stored, and then a retry,
    a settlement and the end of a session show themselves on schedule too.
    """

    def __init__(self, monotonic: Callable[[], float], sleep: Callable[[float], None]) -> None:
        """`monotonic` tells seconds that never run back, `sleep` waits for that many at least."""
        self._monotonic = monotonic
        self._sleep = sleep

    @contextmanager
    def hold(self, slot_s: float) -> Iterator[None]:
        """End the block at a multiple of `slot_s` seconds after it began, also where it raises."""
        began = self._monotonic()
        try:
            yield
        finally:
            took = self._monotonic() - began
            self._sleep(max(0.0, max(1, math.ceil(took / slot_s)) * slot_s - took))
