"""Worker threads of a party's networks on the processor's cores."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

import numpy as np
import torch

from ostraka.services.teachers.config import Progress

T = TypeVar("T")
U = TypeVar("U")


@cache
def threads() -> int:
    """Cores to use, OMP_NUM_THREADS of them where that is set when this is asked for the first time."""
    return torch.get_num_threads()


def groups(networks: int, parts: int) -> list[list[int]]:
    """Split indices 0..networks-1 into at most `parts` runs of nearly equal length."""
    return [part.tolist() for part in np.array_split(np.arange(networks), min(parts, networks))]


def run_each(work: Callable[[T], U], items: Sequence[T], workers: int) -> list[U]:
    """`work` of every item, in order, by at most `workers` threads.

    Several workers share the cores evenly: small networks gain nothing from sharing an operation, and lose
    much where cores are busy. That setting is the process's, so only one call runs at a time.
    """
    workers = min(workers, len(items))
    if workers == 1:
        return [work(item) for item in items]
    with _threads_each(max(1, threads() // workers)), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


@contextmanager
def _threads_each(share: int) -> Iterator[None]:
    torch.set_num_threads(share)
    try:
        yield
    finally:
        torch.set_num_threads(threads())


class StepCounter:
    """Tells how many steps are done; safe from several threads."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0
        self._lock = threading.Lock()

    def expect(self, more: int) -> None:
        """Says that so many more will be done."""
        with self._lock:
            self._total += more

    def advance(self) -> None:
        """Count one step."""
        with self._lock:
            self._done += 1
            self._progress(self._done, self._total)


class PartOfSteps:
    """Counts the steps of one part of a training besides telling of them.

    Attributes:
        taken: how many of the part's steps are done.
    """

    def __init__(self, steps: StepCounter) -> None:
        self.taken = 0
        self._steps = steps

    def advance(self) -> None:
        """Count one step."""
        self.taken += 1
        self._steps.advance()
