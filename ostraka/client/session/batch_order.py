"""Random selection and order of the queries in each batch."""

from collections.abc import Callable, Sequence

import numpy as np

KEY_BYTES = 8


def compose(pending: Sequence[int], size: int, random: Callable[[int], bytes]) -> list[int]:
    """`size` of the pending queries, or all where they are fewer, drawn in random order.

    Who asked a batch again as it was, after some party had left, would show the guardian two histograms of
    each query, whose difference is that party's ballot. What is asked again is therefore mixed with all else
    that is to be asked. `random` gives so many random bytes.
    """
    keys = np.frombuffer(random(KEY_BYTES * len(pending)), np.uint64)
    return [pending[at] for at in np.argsort(keys)[:size]]
