"""Cost of splitting and summing ballots, compared with adding them in the clear."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best
from ostraka.common.sharing.fixed_point import decode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.common.sharing.shares import expand, fresh_seed, split

PARTIES = 50  # as in Dziedzic et al. 2023
QUERIES = 10_000  # enough that a call's fixed overhead is negligible
CLASSES = 10  # MNIST's
TEACHERS = 25  # of a party; their number does not affect the time


def main() -> None:
    """Print the time of 50 parties' shares, and its ratio to the plain sum of the same ballots."""
    one = np.random.default_rng(0).multinomial(TEACHERS, [1 / CLASSES] * CLASSES, QUERIES)
    ballots = [one] * PARTIES
    plain = best(lambda: np.sum(ballots, axis=0))
    for bits in (32, 64):
        ring = Ring(bits)
        total = _share_and_sum(ballots, ring)
        assert np.array_equal(decode(total, ring), PARTIES * one)
        seconds = best(partial(_share_and_sum, ballots, ring))
        print(
            f"sharing {QUERIES}x{CLASSES} ballots of {PARTIES} parties, ring of {bits} bits: "
            f"{seconds:.3f} s, {seconds / plain:.1f} times the plain sum"
        )


def _share_and_sum(ballots: list[NDArray[np.int64]], ring: Ring) -> RingArray:
    seeds = [fresh_seed() for _ in ballots]
    guardian = ring.sum(split(ballot, seed, ring) for ballot, seed in zip(ballots, seeds, strict=True))
    querier = ring.sum(expand(seed, QUERIES, CLASSES, ring) for seed in seeds)
    return ring.add(guardian, querier)


if __name__ == "__main__":
    main()
