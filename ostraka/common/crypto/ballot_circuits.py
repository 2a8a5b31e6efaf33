"""Circuits from shares of a teacher's logits to shares of its ballot (`ostraka.common.sharing.ballots`)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.argmax import argmax
from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.clipping_circuits import Scaling, scaled, scaling
from ostraka.common.crypto.gates import Gates, Wires
from ostraka.common.crypto.label_set_circuits import keep_highest, label_set
from ostraka.common.crypto.word_arithmetic import add
from ostraka.common.sharing.ballots import BallotFormat, ClassCounts, LabelCounts, LabelSetCounts

_Votes = Callable[[Gates, Wires], Wires]


@dataclass(frozen=True)
class BallotCircuit:
    """A circuit whose output bits, weighted and added up, are one teacher's ballot for one query.

    Attributes:
        circuit: an instance is a teacher and a query; its words are the logits, in two's complement.
        width: values of the ballot.
        weights: of the output bits that make up one value, in steps of 2^-16 vote, any sign.
    """

    circuit: Circuit
    width: int
    weights: tuple[int, ...]

    def combine(self, shares: NDArray[np.uint32]) -> NDArray[np.uint32]:
        """Shares of ballots (instances, width) in Z_2^32 of shares of the output bits (instances, outputs).

        The shares of both parties, combined, add up to the ballots in steps of 2^-16 vote.
        """
        weights = np.array(self.weights, dtype=np.int64).astype(np.uint32)
        ballots: NDArray[np.uint32] = shares.reshape(-1, self.width, len(weights)) @ weights
        return ballots


def ballot_circuit(ballot: BallotFormat, classes: int, weight: int, bits: int) -> BallotCircuit:
    """Build the circuit of one teacher's ballot; of equal logits the first class wins, and a 0 is a yes.

    Args:
        ballot: how votes are counted.
        classes: number of classes or labels, of one logit each.
        weight: of the teacher's vote in steps of 2^-16 vote.
        bits: of a logit.

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
            votes, weights = partial(_scaled, how=how), how.weights
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


def _scaled(gates: Gates, logits: Wires, *, how: Scaling) -> Wires:
    return scaled(gates, _positives(gates, logits), how)


def _label_set(gates: Gates, logits: Wires, *, most: int | None) -> Wires:
    labels = logits.shape[2]
    if most is None or most >= labels:
        return label_set(gates, _positives(gates, logits), None)
    return label_set(gates, keep_highest(gates, logits, most), most)
