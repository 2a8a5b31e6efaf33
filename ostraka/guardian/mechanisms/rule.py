"""The guardian's rule of each mechanism: how sums of ballots become answers, and what the answers cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Self, TypedDict, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.mechanism.installed import entry_point_class
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence, WorstCase
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.guardian.accounting.bounds.vote_terms import Moves, Term
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally

REFUSED = -1
"""The label of an unanswered query."""


@dataclass(frozen=True)
class Answers:
    """The release of one batch of Q queries with m answers each: 1, or one for each label of a task.

    Attributes:
        answered: bool (Q, m).
        labels: int64 (Q, m): a class, or 0 or 1 for each label; -1 if not answered.
    """

    answered: NDArray[np.bool_] = field(repr=False)
    labels: NDArray[np.int64] = field(repr=False)

    @classmethod
    def where(cls, answered: NDArray[np.bool_], labels: NDArray[np.bool_ | np.integer[Any]]) -> Self:
        """Return `labels` (Q, m) where `answered`, which is (Q, m) or (Q, 1) for all answers of a query."""
        given = np.broadcast_to(answered, labels.shape).copy()
        return cls(given, np.where(given, labels.astype(np.int64), REFUSED))

    @classmethod
    def all(cls, labels: NDArray[np.bool_ | np.integer[Any]]) -> Self:
        """Return `labels` (Q, m), each of them answered."""
        return cls.where(np.ones(labels.shape, dtype=np.bool_), labels)


M = TypeVar("M", bound=Mechanism)


@dataclass(frozen=True)
class Sums:
    """The ballots of one batch summed over all parties and both halves of the shares.

    Attributes:
        values: ring values (Q, mechanism.width(classes)). They are not checked, because a refusal would be an
            oracle.
        ring: the ring of the values.
        classes: number of classes, or of labels for a multi-label mechanism.
        totals: weight of all votes scheduled for each query, int64 (Q,) in steps of 2^-16 of a vote; if
            ballots have one count per label also (Q, classes), for each label.
        scores: a student's probabilities, int64 (Q, classes) in steps of 2^-16, for mechanisms that use them.
    """

    values: RingArray = field(repr=False)
    ring: Modulus
    classes: int
    totals: NDArray[np.int64] = field(repr=False)
    scores: NDArray[np.int64] | None = field(default=None, repr=False)


class ChargeTerms(TypedDict):
    """How votes are charged: the bound, what a unit can change in one query, and the step of noise."""

    bound: BOUND
    influence: Influence
    lattice: float


class Rule(ABC, Generic[M]):
    """The release of a mechanism whose cost is the worst case, whatever the votes are."""

    @abstractmethod
    def release(self, mechanism: M, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the answers of one batch, with fresh draws of `noise`."""


class DataDependentRule(Rule[M]):
    """A mechanism whose cost has a better bound than the worst case if its votes are known."""

    @abstractmethod
    def charges(self, mechanism: M, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of queries with plausible sums; if records vote, the rdp of the batch (1,)."""

    def largest(self, mechanism: M, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the largest of `charges` over all possible answers to these votes."""
        given = np.ones_like(tally.answered)
        outcomes = (replace(tally, answered=answered, labels=None) for answered in (given, ~given))
        return np.maximum(*(self.charges(mechanism, outcome, order, terms) for outcome in outcomes))

    def vote_terms(self, mechanism: M, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the terms of a tally's theorem6 cost whose smooth sensitivity is known; empty if it is not.

        No query costs more than `worst`, its worst case at the order of `moves`.
        """
        return []

    def affordable(self, mechanism: M, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return np.ones(len(tally.votes), dtype=np.bool_)


RULES: dict[type[Mechanism], Rule[Any]] = {}
"""How each mechanism is released and charged."""
INSTALLED_RULES = "ostraka.rules"
"""The entry points by which other packages register rules, each under its mechanism's `kind`."""


def register(mechanism: type[M], rule: Rule[M]) -> None:
    """Release and charge a mechanism by a rule, in this process; packages name theirs as an entry point."""
    RULES[mechanism] = rule


def rule_of(mechanism: Mechanism) -> Rule[Any]:
    """Return the rule of a mechanism: the guardian's own, or an installed package's.

    Raises `policy.refused` if there is none, and `config.invalid` if a package registers something else.
    """
    if type(mechanism) not in RULES:
        found: type[Rule[Any]] | None = entry_point_class(INSTALLED_RULES, mechanism.kind, Rule)  # type: ignore[type-abstract]
        if found is None:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"The guardian cannot release the mechanism {mechanism.kind}: the package that describes it "
                f"registers no rule among the entry points {INSTALLED_RULES}; add it, or choose another.",
            )
        register(type(mechanism), found())
    return RULES[type(mechanism)]


def release(
    sums: RingArray,
    mechanism: Mechanism,
    noise: NoiseSource,
    ring: Modulus,
    *,
    classes: int,
    totals: NDArray[np.int64],
    scores: NDArray[np.int64] | None = None,
) -> Answers:
    """Return the answers of one batch; every release draws new noise.

    Args:
        sums: as `Sums.values`.
        mechanism: what to release, and with how much noise.
        noise: the randomness.
        ring: the ring of the sums.
        classes: as `Sums.classes`.
        totals: as `Sums.totals`.
        scores: as `Sums.scores`.

    Raises:
        ValueError: if scores are missing, and for sums that are not votes; use `release_sums` for these.
    """
    return rule_of(mechanism).release(mechanism, Sums(sums, ring, classes, totals, scores), noise)
