"""Timing of benchmarks."""

import time
from collections.abc import Callable

REPEATS = 3  # the shortest counts: more take longer, but are disturbed less often


def best(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of several runs of `work`, in seconds.

    Args:
        work: the work to time.
        clock: elapsed time, or `time.process_time` if there is other load on the cores.
    """
    times = []
    for _ in range(REPEATS):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)
