"""Circuits from shares of a teacher's logits to shares of its ballot (`ostraka.common.sharing.ballots`).

Dziedzic et al. 2023, appendix I.2.

In a ballot of m yeses each yes counts F(m), a public function. It is written as F(m) = F(1) + w_1 g_1(m) +
... with public weights w_i and functions g_i that are 0 or 1. A label's part of the ballot is then its yes,
with weight F(1), and for every i its yes AND g_i(m), with weight w_i. Weights are applied to the shares, at
no cost.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit, Gates, Wires
from ostraka.common.crypto.word_arithmetic import add, argmax, greater_signed, lookup, popcount
from ostraka.common.sharing.ballots import VOTE, BallotFormat, ClassCounts, LabelCounts, LabelSetCounts
from ostraka.common.sharing.label_sets import bits_of, count_sets, index_of


def keep_highest(gates: Gates, logits: Wires, most: int) -> Wires:
    """Keep the `most` highest of the logits that are not negative; of equal ones the lower label.

    Few labels are ranked; among many, the highest is searched for `most` times: whichever takes fewer ANDs.

    Args:
        gates: how to compute.
        logits: words (w, instances, labels, label), in two's complement.
        most: how many are kept, fewer than there are labels.

    Returns:
        Wires (instances, labels, label), 1 where a label is kept.
    """
    by_rank = logits.shape[2] <= 4 * most
    return _by_rank(gates, logits, most) if by_rank else _by_search(gates, logits, most)


def label_set(gates: Gates, labels: Wires, max_positives: int | None) -> Wires:
    """Return one wire for each set of at most `max_positives` labels, 1 at the set of the labels that are 1.

    The product of a set's labels is 1 if the set lies within the sought set. The sought set is therefore the
    one for which the products of itself and its supersets add up to 1 over GF(2) (Moebius inversion), and
    sums are free. The only ANDs are one for each set of two labels or more.

    Args:
        gates: how to compute.
        labels: (instances, labels, label), of which at most `max_positives` (None: any number) are 1.
        max_positives: maximum number of labels in a set.

    Returns:
        Wires (instances, sets, label) in the order of `label_sets.index_of`.
    """
    count = labels.shape[1]
    sets = bits_of(np.arange(count_sets(count, max_positives)), count)
    chosen = _products(gates, labels, sets)
    sizes = sets.sum(axis=1)
    for label in range(count):
        smaller = np.flatnonzero(~sets[:, label] & (sizes < sizes[-1]))
        chosen[:, smaller] ^= chosen[:, index_of(sets[smaller] | np.eye(count, dtype=np.bool_)[label])]
    chosen[:, 0] = gates.not_(chosen[:, 0])
    return chosen


def _by_search(gates: Gates, logits: Wires, most: int) -> Wires:
    """Search for the highest `most` times; a found logit becomes negative, so that it is not found again."""
    left = logits.copy()
    kept = np.zeros(logits.shape[1:], np.uint64)
    for _ in range(most):
        found = gates.and_(argmax(gates, left), gates.not_(left[-1]))
        left[-1] ^= found
        kept ^= found
    return kept


def _by_rank(gates: Gates, logits: Wires, most: int) -> Wires:
    """Compare all pairs, and keep a label that is not negative and has fewer than `most` ahead of it."""
    count = logits.shape[2]
    first, second = np.triu_indices(count, 1)
    second_wins = greater_signed(gates, logits[:, :, second], logits[:, :, first]).swapaxes(0, 1)
    wins = np.empty((count, count, *second_wins.shape[1:]), np.uint64)
    wins[second, first] = second_wins
    wins[first, second] = gates.not_(second_wins)
    ahead = np.stack([np.delete(wins[:, label], label, axis=0) for label in range(count)], axis=2)
    kept = lookup(gates, [rank < most for rank in range(count)], 1, popcount(gates, ahead))[0]
    return gates.and_(kept, gates.not_(logits[-1]))


def _products(gates: Gates, labels: Wires, sets: NDArray[np.bool_]) -> Wires:
    """Return the product of every set's labels, each the product of a smaller set and one more label.

    The product of no labels, which would be 1, is left at 0.
    """
    count = labels.shape[1]
    products = np.zeros((len(labels), len(sets), labels.shape[-1]), np.uint64)
    products[:, 1 : count + 1] = labels
    sizes = sets.sum(axis=1)
    for size in range(2, sizes[-1] + 1):
        places = np.flatnonzero(sizes == size)
        last = count - 1 - sets[places, ::-1].argmax(axis=1)
        smaller = index_of(sets[places] & ~np.eye(count, dtype=np.bool_)[last])
        products[:, places] = gates.and_(products[:, smaller], labels[:, last])
    return products


@dataclass(frozen=True)
class Scaling:
    """How much each yes of a ballot counts.

    Attributes:
        weights: F(1), w_1, ..., w_r in steps of 2^-16 vote, with any sign.
        functions: g_1, ..., g_r as bits of an integer, for every number of yeses from 0 on.
    """

    weights: tuple[int, ...]
    functions: tuple[int, ...]


def scaling(ballot: LabelCounts, labels: int, weight: int) -> Scaling:
    """Return the exact F of `ostraka.common.sharing.ballots`, in the form that needs fewer functions.

    The forms have either one function for each step of F, which is "m or more", or one for each bit of F(1) -
    F(m).
    """
    counted = ballot.count(np.tri(labels)[None], labels, weight)[:, 0] * VOTE
    values = [int(value) for value in counted]
    by_step = _by_step(values)
    by_bit = _by_bit(values)
    return by_step if len(by_step.weights) <= len(by_bit.weights) else by_bit


def scale_yeses(gates: Gates, yeses: Wires, how: Scaling) -> Wires:
    """Return each yes, and each yes AND each function of their number: (instances, labels * (1 + r), label).

    Args:
        gates: how to compute.
        yeses: wires (instances, labels, label).
        how: the scaling for the same number of labels.
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
    """Return one function for each m > 1 where F(m) differs from F(m - 1): whether at least m say yes."""
    steps = [place for place in range(1, len(values)) if values[place] != values[place - 1]]
    weights = [values[place] - values[place - 1] for place in steps]
    flags = [
        sum((place < number) << bit for bit, place in enumerate(steps)) for number in range(len(values) + 1)
    ]
    return Scaling((values[0], *weights), tuple(flags))


def _by_bit(values: list[int]) -> Scaling:
    """Return one function for each bit that is 1 in some F(1) - F(m)."""
    missing = [0, *(values[0] - value for value in values)]
    used = [bit for bit in range(max(missing).bit_length()) if any(lack >> bit & 1 for lack in missing)]
    flags = [sum((lack >> bit & 1) << place for place, bit in enumerate(used)) for lack in missing]
    return Scaling((values[0], *(-(1 << bit) for bit in used)), tuple(flags))


_Votes = Callable[[Gates, Wires], Wires]


@dataclass(frozen=True)
class BallotCircuit:
    """A circuit whose output bits, weighted and summed, are one teacher's ballot for one query.

    Attributes:
        circuit: an instance is a teacher and a query; its words are the logits, in two's complement.
        width: number of values in the ballot.
        weights: weights of the output bits that make up one value, in steps of 2^-16 vote, with any sign.
    """

    circuit: Circuit
    width: int
    weights: tuple[int, ...]

    def combine(self, shares: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Return shares of ballots (instances, width) in Z_2^32 from shares of outputs (instances, outputs).

        The combined shares of both parties add up to the ballots in steps of 2^-16 vote.
        """
        weights = np.array(self.weights, dtype=np.int64).astype(np.uint32)
        ballots: NDArray[np.uint32] = shares.reshape(-1, self.width, len(weights)) @ weights
        return ballots


def ballot_circuit(ballot: BallotFormat, classes: int, weight: int, bits: int) -> BallotCircuit:
    """Build the circuit of one teacher's ballot; of equal logits the first class wins, and a 0 is a yes.

    Args:
        ballot: how votes are counted.
        classes: number of classes or labels, with one logit each.
        weight: weight of the teacher's vote in steps of 2^-16 vote.
        bits: number of bits of a logit.

    Raises:
        ValueError: for a format that does not count teachers' votes.
    """
    votes: _Votes
    weights: tuple[int, ...] = (weight,)
    match ballot:
        case ClassCounts():
            votes = argmax
        case LabelCounts(radius=radius) if radius < math.inf:
            how = scaling(ballot, classes, weight)
            votes = partial(_scale_positives, how=how)
            weights = how.weights
        case LabelCounts():
            votes = _positives
        case LabelSetCounts(most=most):
            votes = partial(_label_set, most=most)
        case _:
            raise ValueError(f"{type(ballot).__name__} ballots count no votes")
    width = ballot.width(classes)
    circuit = Circuit(
        word_bits=bits,
        words=classes,
        garbler_words=classes,
        outputs=width * len(weights),
        opening="shares",
        build=partial(_of_shares, votes=votes),
    )
    return BallotCircuit(circuit, width, weights)


def _of_shares(gates: Gates, theirs: Wires, own: Wires, *, votes: _Votes) -> Wires:
    return votes(gates, add(gates, theirs, own))


def _positives(gates: Gates, logits: Wires) -> Wires:
    return gates.not_(logits[-1])


def _scale_positives(gates: Gates, logits: Wires, *, how: Scaling) -> Wires:
    return scale_yeses(gates, _positives(gates, logits), how)


def _label_set(gates: Gates, logits: Wires, *, most: int | None) -> Wires:
    labels = logits.shape[2]
    if most is None or most >= labels:
        return label_set(gates, _positives(gates, logits), None)
    return label_set(gates, keep_highest(gates, logits, most), most)
