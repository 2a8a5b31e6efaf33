"""Ballots scaled down to a norm, computed on a teacher's yeses (Dziedzic et al. 2023, section 3.2).

A ballot of m yeses counts F(m) for each of them, a public function. Written as F(m) = F(1) + w_1 g_1(m) + ...
with public weights w_i and functions g_i that are 0 or 1, a label's part of the ballot is its yes, weighing
F(1), and for every i its yes AND g_i(m), weighing w_i. Weights are applied to the shares, at no cost.
"""

from dataclasses import dataclass

import numpy as np

from ostraka.common.crypto.gates import Gates, Wires
from ostraka.common.crypto.word_arithmetic import lookup, popcount
from ostraka.common.sharing.ballots import VOTE, LabelCounts


@dataclass(frozen=True)
class Scaling:
    """How much each yes of a ballot counts.

    Attributes:
        weights: F(1), w_1, ..., w_r in steps of 2^-16 vote, any sign.
        functions: g_1, ..., g_r as bits of an integer, for every number of yeses from 0 on.
    """

    weights: tuple[int, ...]
    functions: tuple[int, ...]


def scaling(ballot: LabelCounts, labels: int, weight: int) -> Scaling:
    """Return the exact F of `ostraka.common.sharing.ballots`, by the one of two ways with fewer functions.

    Either one function for each step of F, which is "m or more", or one for each bit of F(1) - F(m).
    """
    counted = ballot.count(np.tri(labels)[None], labels, weight)[:, 0] * VOTE
    values = [int(value) for value in counted]
    by_step, by_bit = _by_step(values), _by_bit(values)
    return by_step if len(by_step.weights) <= len(by_bit.weights) else by_bit


def scaled(gates: Gates, yeses: Wires, how: Scaling) -> Wires:
    """Return each yes, and it AND each function of the number of yeses: (instances, labels * (1 + r), label).

    Args:
        gates: how to compute.
        yeses: wires (instances, labels, label).
        how: of the same number of labels.
    """
    instances, labels, blocks = yeses.shape
    if len(how.weights) == 1:
        return yeses
    number = popcount(gates, yeses.swapaxes(0, 1))
    flags = lookup(gates, how.functions, len(how.weights) - 1, number).swapaxes(0, 1)[:, None]
    shape = (instances, labels, len(how.weights) - 1, blocks)
    parts = gates.and_(np.broadcast_to(yeses[:, :, None], shape), np.broadcast_to(flags, shape))
    return np.concatenate([yeses[:, :, None], parts], axis=2).reshape(instances, -1, blocks)


def _by_step(values: list[int]) -> Scaling:
    """One function for each m > 1 where F(m) differs from F(m - 1): whether there are m yeses or more."""
    steps = [place for place in range(1, len(values)) if values[place] != values[place - 1]]
    weights = [values[place] - values[place - 1] for place in steps]
    flags = [
        sum((place < number) << bit for bit, place in enumerate(steps)) for number in range(len(values) + 1)
    ]
    return Scaling((values[0], *weights), tuple(flags))


def _by_bit(values: list[int]) -> Scaling:
    """One function for each bit that is 1 in some F(1) - F(m)."""
    missing = [0, *(values[0] - value for value in values)]
    used = [bit for bit in range(max(missing).bit_length()) if any(lack >> bit & 1 for lack in missing)]
    flags = [sum((lack >> bit & 1) << place for place, bit in enumerate(used)) for lack in missing]
    return Scaling((values[0], *(-(1 << bit) for bit in used)), tuple(flags))
