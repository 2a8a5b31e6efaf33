"""The guardian's rule of each mechanism: how sums of ballots become answers, and what these cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Generic, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.privacy import Influence
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.noise.source import NoiseSource

M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True)
class Sums:
    """The ballots of one batch summed over all parties and both halves of the shares.

    Attributes:
        values: ring values (Q, mechanism.width(classes)), whatever they are: nothing about them is checked,
            because a refusal would be an oracle.
        ring: the ring of the values.
        classes: number of classes, or of labels for a multi-label mechanism.
        totals: weight of all votes scheduled for each query, int64 (Q,) in steps of 2^-16 of a vote; where
            ballots have one count a label also (Q, classes), of those scheduled for each label.
        scores: a student's probabilities, int64 (Q, classes) in steps of 2^-16, for what takes them.
    """

    values: RingArray = field(repr=False)
    ring: Ring
    classes: int
    totals: NDArray[np.int64] = field(repr=False)
    scores: NDArray[np.int64] | None = field(default=None, repr=False)


class ChargeTerms(TypedDict):
    """How votes are charged: the bound, what a unit can change in one query, and the step of noise."""

    bound: BOUND
    influence: Influence
    lattice: float


class Rule(ABC, Generic[M]):
    """The release of a mechanism; what it costs is the worst case, whatever the votes are."""

    @abstractmethod
    def release(self, mechanism: M, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the answers of one batch, with fresh draws of `noise`."""


class DataDependentRule(Rule[M]):
    """A mechanism whose cost can be bounded better than at worst where its votes are known."""

    @abstractmethod
    def charges(self, mechanism: M, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of queries of plausible sums; where records vote, that of the batch (1,)."""

    def affordable(self, mechanism: M, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return np.ones(len(tally.votes), dtype=np.bool_)


RULES: dict[type[Mechanism], Rule[Any]] = {}
"""How each mechanism is released and charged."""


def register(mechanism: type[M], rule: Rule[M]) -> None:
    """Add the release and the charges of a mechanism that `ostraka.common.mechanism` knows."""
    RULES[mechanism] = rule


def rule_of(mechanism: Mechanism) -> Rule[Any]:
    """Return the rule of a mechanism."""
    return RULES[type(mechanism)]


def release(
    sums: RingArray,
    mechanism: Mechanism,
    noise: NoiseSource,
    ring: Ring,
    *,
    classes: int,
    totals: NDArray[np.int64],
    scores: NDArray[np.int64] | None = None,
) -> Answers:
    """Return the answers of one batch; every release draws afresh.

    Args:
        sums: as `Sums.values`.
        mechanism: what to release, and with how much noise.
        noise: the randomness.
        ring: the ring of the sums.
        classes: as `Sums.classes`.
        totals: as `Sums.totals`.
        scores: as `Sums.scores`.

    Raises:
        ValueError: where scores are missing, and for sums of updates, which `released_updates` releases.
    """
    return rule_of(mechanism).release(mechanism, Sums(sums, ring, classes, totals, scores), noise)
