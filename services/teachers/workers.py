"""How a party's networks share the processor's cores."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

import numpy as np
import torch

T = TypeVar("T")
U = TypeVar("U")

THREADS = torch.get_num_threads()
"""Cores to use, OMP_NUM_THREADS of them where that is set."""


def groups(networks: int, parts: int) -> list[list[int]]:
    """Indices 0..networks-1 in at most `parts` runs of nearly equal length."""
    return [part.tolist() for part in np.array_split(np.arange(networks), min(parts, networks))]


def run_each(work: Callable[[T], U], items: Sequence[T], workers: int) -> list[U]:
    """`work` of every item, in order, by `workers` threads.

    Several workers use one thread each inside torch: small networks gain nothing from sharing an operation,
    and lose much where cores are busy. That setting is the process's, so only one call runs at a time.
    """
    if workers == 1:
        return [work(item) for item in items]
    with _one_thread_each(), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


@contextmanager
def _one_thread_each() -> Iterator[None]:
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(THREADS)
