"""How benchmarks time what they compare."""

import time
from collections.abc import Callable

REPEATS = 3  # of which the shortest counts: more take longer, and are disturbed less often


def best(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest of a few runs of `work`, in seconds.

    Args:
        work: what is timed.
        clock: that of the wall, or `time.process_time` where others work on the same cores.
    """
    times = []
    for _ in range(REPEATS):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)
