"""Random sources whose bytes a test decides."""

import hashlib
from collections.abc import Callable
from itertools import count

from ostraka.common.noise.random_words import RandomBytes

Change = Callable[[int, bytes], bytes]
"""Returns the replacement for the bytes of a stage."""


def fixed(seed: str) -> RandomBytes:
    """Return a source whose bytes look random and are the same each time."""
    calls = count()
    return lambda size: hashlib.shake_256(f"{seed} {next(calls)}".encode()).digest(size)


def words(*given: int) -> RandomBytes:
    """Return a source of these words, one per call."""
    left = iter(given)
    return lambda size: next(left).to_bytes(size, "little")


def _as_drawn(_: int, drawn: bytes) -> bytes:
    return drawn


class Stages:
    """A source that exposes each request and lets a test change the reply.

    A block makes four requests for many words: candidates, trials of these, runs, trials of numbers. A
    request for a single word decides a trial that is close to its bound.
    """

    CANDIDATES, KEPT, RUNS, TAKEN = range(4)
    NEAR = 4

    def __init__(self, random: RandomBytes, change: Change = _as_drawn) -> None:
        self._random = random
        self._change = change
        self._next = count()
        self.asked: list[tuple[int, int]] = []

    def __call__(self, size: int) -> bytes:
        stage = self.NEAR if size == 8 else next(self._next) % 4
        self.asked.append((stage, size))
        return self._change(stage, self._random(size))
