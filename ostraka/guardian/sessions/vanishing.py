"""Timetable of vanishing cohorts, from public randomness alone (Mühl and Boenisch 2022, App. B)."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

_DOMAIN = b"ostraka/v1/vanishing\0"
_RAW_BITS = 64


def frequencies(queries: Sequence[int | None]) -> list[Fraction]:
    """How often each cohort votes, by how many `queries` its tightest unit pays for at worst.

    None stands for any number. The one that pays for the most votes on every query, the others in proportion,
    so that budgets end together; so does one without a limit. Who pays for none keeps turns as if for one:
    whether a budget that is used up stops a session is the policy's to say. Where none pays for any, all
    vote, and the budgets refuse the batch.
    """
    most = max((count for count in queries if count is not None), default=0)
    return [Fraction(max(1, count), most) if most and count is not None else Fraction(1) for count in queries]


def timetable(
    often: Sequence[Fraction], queries: int, plan_digest: bytes, batch_id: int
) -> NDArray[np.bool_]:
    """Which cohorts vote on which queries of a batch, bool (cohorts, queries).

    Cohorts that vote equally often form a deck. A query takes cohorts from the top of each deck, as many as
    its frequency says on average, rounded up or down; what is rounded is shifted from deck to deck, so that
    the number of cohorts hardly varies. A deck that is used up is shuffled anew: cohorts of the same
    frequency meet others each time, and none votes a second time before all others of its deck did.

    Args:
        often: how often each cohort votes, 0 to 1.
        queries: size of the batch.
        plan_digest: SHA-256 of the session's plan, in which the querying party's nonce is.
        batch_id: of the batch in its session.

    The randomness is public: NumPy's Philox seeded with SHA-256 of a domain, the plan's digest and the batch
    id (8 bytes, big endian). Its raw 64-bit numbers give a start to the rounding, then an order to each
    shuffled deck. Nothing else goes in, so no record decides who votes (docs/personalized.md).
    """
    seed = hashlib.sha256(_DOMAIN + plan_digest + batch_id.to_bytes(8, "big")).digest()
    random = np.random.Philox(int.from_bytes(seed, "big"))
    start = Fraction(int(random.random_raw()), 2**_RAW_BITS)
    decks: dict[Fraction, list[int]] = defaultdict(list)
    for cohort, frequency in enumerate(often):
        decks[frequency].append(cohort)
    rounded = sorted(f for f, deck in decks.items() if (f * len(deck)).denominator > 1)
    table = np.zeros((len(often), queries), dtype=np.bool_)
    for frequency in sorted(decks):
        cohorts = np.array(decks[frequency])
        phase = start + Fraction(rounded.index(frequency), len(rounded)) if frequency in rounded else start
        deck = _Deck(cohorts, random)
        for query, count in enumerate(_counts(frequency * len(cohorts), phase, queries)):
            table[deck.take(count), query] = True
    return table


def _counts(each: Fraction, phase: Fraction, queries: int) -> list[int]:
    """How many cohorts every query takes from a deck that gives `each` on average."""
    shift = int(phase * each.denominator)
    until = [(query * each.numerator + shift) // each.denominator for query in range(queries + 1)]
    return [after - before for before, after in pairwise(until)]


class _Deck:
    """Cohorts of one frequency, shuffled whenever they are used up."""

    def __init__(self, cohorts: NDArray[np.int64], random: np.random.Philox) -> None:
        self._cohorts = cohorts
        self._random = random
        self._rest = cohorts[:0]

    def take(self, count: int) -> NDArray[np.int64]:
        """Take the next `count` cohorts, no more than there are and none of them twice."""
        taken, self._rest = self._rest[:count], self._rest[count:]
        if len(taken) == count:
            return taken
        shuffled = self._cohorts[np.argsort(self._random.random_raw(len(self._cohorts)))]
        again = np.isin(shuffled, taken)
        ordered = np.concatenate([shuffled[~again], shuffled[again]])
        more = count - len(taken)
        self._rest = ordered[more:]
        return np.concatenate([taken, ordered[:more]])
