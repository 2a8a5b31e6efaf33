"""The guardian's words of a blind tally: its half of the histogram with noise, for `tally_circuits`.

They give what `ostraka.guardian.mechanisms` would on the same histogram and the same draws, but for equal
noisy counts, of which the lower class wins here, and for a noisy difference of exactly half the ring, which
honest sums never reach and a coin decides here. Both read only what is noised already and a coin, so the cost
of an answer is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.tally_circuits import SUM_BITS, require_blind
from ostraka.common.mechanism import Mechanism
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms.check import threshold_steps
from ostraka.guardian.noise.source import NoiseSource

Sums = NDArray[np.uint32]
Words = NDArray[np.uint64]

RING = Ring(SUM_BITS)
_FARTHEST = 2 ** (SUM_BITS - 2)
"""The largest circular distance (`Ring.distance`)."""
_NEVER = 2**SUM_BITS - 1


def check_words(mechanism: Mechanism, sums: Sums, totals: NDArray[np.int64], noise: NoiseSource) -> Words:
    """Return a check's words (instances, words); an instance is a query, or a query and a label, in rows.

    Args:
        mechanism: with a check.
        sums: the guardian's half of the histogram (Q, k).
        totals: weight of all votes scheduled for each query, (Q,) in steps of 2^-16 vote.
        noise: draws once, in the order of `ostraka.guardian.mechanisms`.

    Raises:
        ValueError: for a mechanism without a check, or one that is not tallied blindly.
    """
    require_blind(mechanism)
    check = mechanism.noisy_check
    if check is None:
        raise ValueError(f"mechanism {mechanism.kind} has no check")
    needed = threshold_steps(check.threshold)
    if mechanism.multi_label:
        return label_check(sums, totals, needed, noise.gaussian(check.sigma, sums.shape))
    return confident_check(sums, needed, noise.gaussian(check.sigma, (len(sums),)))


def answer_words(mechanism: Mechanism, sums: Sums, totals: NDArray[np.int64], noise: NoiseSource) -> Words:
    """Return the words (instances, words) of the answers; arguments and order of draws as in `check_words`.

    Raises:
        ValueError: for a mechanism that is not tallied blindly.
    """
    require_blind(mechanism)
    drawn = mechanism.draws(*sums.shape)[-1].of(noise)
    if not mechanism.multi_label:
        return noisy_counts(sums, drawn)
    yes, no = drawn
    coins = noise.uniform(sums.shape) >= np.uint64(2**63)
    return halve_differences(sums, totals, yes, no, coins)


def confident_check(sums: Sums, needed: np.int64, draws: NDArray[np.int64]) -> Words:
    """Words (Q, k + 1) of `check_circuit(k)`: passes iff max_j |s_j| + draw >= needed.

    |s| is the circular distance of the whole sum from 0, and everything in steps of 2^-16 vote (own
    derivation, docs/confidential.md).
    """
    arc = _near_both(needed, draws, np.int64(0))
    return _words(sums - RING.wrap(arc.begin)[:, None], arc.length)


def label_check(sums: Sums, totals: NDArray[np.int64], needed: np.int64, draws: NDArray[np.int64]) -> Words:
    """Words (Q k, 2) of `label_check_circuit`: passes iff max(|V|, |n - V|) + draw >= needed.

    V is the whole sum, n the total and |.| the circular distance from 0 (own derivation,
    docs/confidential.md).
    """
    apart = RING.lift(RING.wrap(totals))[:, None]
    arc = _near_both(needed, draws, apart)
    return _words((sums - RING.wrap(arc.begin)).reshape(-1, 1), arc.length.reshape(-1))


def noisy_counts(sums: Sums, draws: NDArray[np.int64]) -> Words:
    """Words (Q, 2k) of `argmax_circuit(k)`: the sums, and the noise that is added once they are folded."""
    return np.hstack([sums, RING.wrap(draws)]).astype(np.uint64)


def halve_differences(
    sums: Sums,
    totals: NDArray[np.int64],
    yes: NDArray[np.int64],
    no: NDArray[np.int64],
    coins: NDArray[np.bool_],
) -> Words:
    """Words (Q k, 1) of `sign_circuit`: whether 2 V - n + yes - no is above 0, or is 0 and the coin says yes.

    With the coin less 1 added, that is whether the difference is 0 or more. The other half of V counts twice
    and so has no part in the lowest bit, which is dropped.
    """
    coin = RING.wrap(coins.astype(np.int64) - 1)
    difference = sums + sums - RING.wrap(totals)[:, None] + RING.wrap(yes) - RING.wrap(no) + coin
    return (difference >> np.uint32(1)).astype(np.uint64).reshape(-1, 1)


class _Arc(NamedTuple):
    """The ring values from `begin` on, `length` of them; `_NEVER` stands for the whole ring."""

    begin: NDArray[np.int64]
    length: NDArray[np.int64]


def _near_both(needed: np.int64, draws: NDArray[np.int64], apart: NDArray[np.int64] | np.int64) -> _Arc:
    """Find the values nearer than needed - draw to 0 and `apart` in circular distance: they fail the check.

    Those near one of the two are an arc of at most 2^31 - 1 values around it, less than half the ring, so
    that two such arcs overlap in one arc or not at all. What needs a distance beyond the largest never
    passes. Draws that go beyond what decides are clipped first, so that nothing overflows.
    """
    nearer_than = needed - np.clip(draws, needed - _FARTHEST - 1, needed)
    length = np.maximum(2 * nearer_than - 1 - np.abs(apart), 0)
    begin = np.maximum(apart, 0) - (nearer_than - 1)
    return _Arc(begin, np.where(nearer_than > _FARTHEST, _NEVER, length))


def _words(sums: Sums, needed: NDArray[np.int64]) -> Words:
    return np.column_stack([sums, RING.wrap(needed)]).astype(np.uint64)
