"""The guardian's words of a blind tally: its half of the histogram with noise, for `tally_circuits`.

They give the results of `ostraka.guardian.mechanisms` on the same histogram and the same draws, with two
exceptions. Of equal noisy counts the lower class wins here. Noisy differences that honest sums never reach
also differ: in a ring half the ring, which a coin decides here, and in a field the differences for which
twice the count is beyond half the field. All circuits read only noisy values and a coin, so the cost of an
answer is the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.tally_circuits import HALVED_BITS, require_blind
from ostraka.common.mechanism import Mechanism
from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.guardian.mechanisms.check import threshold_steps

Words = NDArray[np.uint64]


def check_words(
    mechanism: Mechanism, sums: RingArray, totals: NDArray[np.int64], noise: NoiseSource, modulus: Modulus
) -> Words:
    """Return a check's words (instances, words); an instance is a query, or a query and a label, in rows.

    Args:
        mechanism: a mechanism with a check.
        sums: the guardian's half of the histogram (Q, k).
        totals: weight of all votes scheduled for each query, (Q,) in steps of 2^-16 vote.
        noise: draws once, in the order of `ostraka.guardian.mechanisms`.
        modulus: of the sums.

    Raises:
        ValueError: for a mechanism without a check, or without a blind tally.
    """
    require_blind(mechanism)
    check = mechanism.noisy_check
    if check is None:
        raise ValueError(f"mechanism {mechanism.kind} has no check")
    needed = threshold_steps(check.threshold)
    if mechanism.multi_label:
        return label_check(sums, totals, needed, noise.gaussian(check.sigma, sums.shape), modulus)
    return confident_check(sums, needed, noise.gaussian(check.sigma, (len(sums),)), modulus)


def answer_words(
    mechanism: Mechanism, sums: RingArray, totals: NDArray[np.int64], noise: NoiseSource, modulus: Modulus
) -> Words:
    """Return the words (instances, words) of the answers; arguments and order of draws as in `check_words`.

    Raises:
        ValueError: for a mechanism without a blind tally.
    """
    require_blind(mechanism)
    draws = mechanism.draws(*sums.shape)
    drawn = draws[-1].of(noise) if draws else np.zeros(sums.shape, dtype=np.int64)
    if not mechanism.multi_label:
        return noisy_counts(sums, drawn, modulus)
    yes, no = drawn
    coins = noise.uniform(sums.shape) >= np.uint64(2**63)
    return halve_differences(sums, totals, yes - no, coins, modulus)


def confident_check(sums: RingArray, needed: np.int64, draws: NDArray[np.int64], modulus: Modulus) -> Words:
    """Words (Q, k + 1) of `check_circuit(k)`: passes iff max_j |s_j| + draw >= needed.

    |s| is the circular distance of the whole sum from 0; everything is in steps of 2^-16 vote (own
    derivation, docs/confidential-proofs.md).
    """
    arc = _near_both(needed, draws, np.int64(0), modulus)
    return _words(modulus.subtract(sums, modulus.wrap(arc.begin)[:, None]), arc.length)


def label_check(
    sums: RingArray,
    totals: NDArray[np.int64],
    needed: np.int64,
    draws: NDArray[np.int64],
    modulus: Modulus,
) -> Words:
    """Words (Q k, 2) of `check_circuit(1)`: passes iff max(|V|, |n - V|) + draw >= needed.

    V is the whole sum, n the total and |.| the circular distance from 0 (own derivation,
    docs/confidential-proofs.md).
    """
    apart = modulus.lift(modulus.wrap(totals))[:, None]
    arc = _near_both(needed, draws, apart, modulus)
    return _words(modulus.subtract(sums, modulus.wrap(arc.begin)).reshape(-1, 1), arc.length.reshape(-1))


def noisy_counts(sums: RingArray, draws: NDArray[np.int64], modulus: Modulus) -> Words:
    """Words (Q, 2k) of `argmax_circuit(k)`: the sums, and the noise that is added after they are folded."""
    noise = draws.astype(np.uint64) & np.uint64(2**modulus.bits - 1)
    return np.hstack([sums.astype(np.uint64), noise])


def halve_differences(
    sums: RingArray,
    totals: NDArray[np.int64],
    noise: NDArray[np.int64],
    coins: NDArray[np.bool_],
    modulus: Modulus,
) -> Words:
    """Words (Q k, 1) of `sign_circuit`: whether 2 V - n + noise is above 0, or is 0 and the coin says yes.

    With the coin minus 1 added, the question is whether the difference is 0 or more. Because V is whole, that
    is equivalent to V plus half of the addend of 2 V, rounded down, being 0 or more. In a ring this sum is
    taken modulo half of the ring.
    """
    added = noise - totals[:, None] + coins - 1
    halved = modulus.add(sums, modulus.wrap(added >> 1))
    return halved.astype(np.uint64).reshape(-1, 1) & np.uint64(2**HALVED_BITS - 1)


class _Arc(NamedTuple):
    """The residues from `begin` on, `length` of them; a word of all ones represents every residue."""

    begin: NDArray[np.int64]
    length: NDArray[np.int64]


def _near_both(
    needed: np.int64, draws: NDArray[np.int64], apart: NDArray[np.int64] | np.int64, modulus: Modulus
) -> _Arc:
    """Find the values nearer than needed - draw to 0 and `apart` in circular distance: they fail the check.

    The values near one of the two are an arc of at most 2^(bits - 1) - 1 values around it, less than half of
    all residues, so two such arcs overlap in one arc or not at all. A value that needs a distance beyond the
    largest (`Modulus.distance`) never passes. Draws beyond what matters are clipped first, so nothing
    overflows.
    """
    farthest = 2 ** (modulus.bits - 2)
    nearer_than = needed - np.clip(draws, needed - farthest - 1, needed)
    length = np.maximum(2 * nearer_than - 1 - np.abs(apart), 0)
    begin = np.maximum(apart, 0) - (nearer_than - 1)
    return _Arc(begin, np.where(nearer_than > farthest, 2**modulus.bits - 1, length))


def _words(sums: RingArray, needed: NDArray[np.int64]) -> Words:
    return np.column_stack([sums.astype(np.uint64), needed.astype(np.uint64)])
