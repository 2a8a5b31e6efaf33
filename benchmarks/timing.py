"""How benchmarks time what they compare."""

import time
from collections.abc import Callable

REPEATS = 3


def best(work: Callable[[], object]) -> float:
    """Return the shortest of a few runs of `work`, in seconds."""
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
