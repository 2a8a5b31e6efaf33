"""Negative dependencies between labels, learned on own labelled records.

Dziedzic et al. 2023, Appendix D.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from ostraka.client.run.dependency_rules import Dependencies, Dependency
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
"""A rule may fail on one in twenty records without the parent; `Absences.gains` weighs what that loses."""
SUPPORT = 20
"""The fewest records of which one exception still leaves `CONFIDENCE`."""
CERTAINTY = 0.95
"""Of the limit on labels that a rule loses: more certainty would cost rare labels every rule."""


@dataclass(frozen=True)
class Absences:
    """How labels go missing together, parents in rows and children in columns.

    Attributes:
        confidence: share of the records without the parent that are without the child, (k, k); NaN on the
            diagonal and where no record is without the parent. Table 3 of Dziedzic et al. 2023.
        missed: the share of the records with the child that are without the parent is at most this, (k, k),
            with `CERTAINTY` (Clopper and Pearson); 1 where no record has the child.
        absent: share of the records on which a label is known that are without it, (k,).
        support: how many records are without it, int64 (k,).
    """

    confidence: Floats = field(repr=False)
    missed: Floats = field(repr=False)
    absent: Floats = field(repr=False)
    support: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, y: NDArray[np.int64]) -> "Absences":
        """Count labels y (N, k) of 0, 1 and UNKNOWN; a pair counts where both are known."""
        without, having = ((y == value).astype(np.int64) for value in (0, 1))
        support = without.sum(axis=0)
        known = (without + having).sum(axis=0)
        together = without.T @ without
        lost = without.T @ having
        asked = together + lost
        confidence = np.divide(together, asked, out=np.full(together.shape, np.nan), where=asked > 0)
        np.fill_diagonal(confidence, np.nan)
        missed = _at_most(lost, lost + having.T @ having)
        return cls(confidence, missed, support / np.maximum(1, known), support)

    def gains(self, confidence: float, support: int) -> Floats:
        """Return a child's gain by asking a parent first, (k, k); 0 where the rule is not good enough.

        That is the share of queries that are not asked about the child, less the share of the child's
        records that may be lost by it: below 0 where labels have nothing to do with each other, however rare.
        """
        good = (self.confidence >= confidence) & (self.support[:, None] >= support)
        return np.where(good, np.maximum(self.absent[:, None] - self.missed, 0.0), 0.0)


def _at_most(lost: NDArray[np.int64], of: NDArray[np.int64]) -> Floats:
    """Upper limits of shares of which `lost` were counted among `of`."""
    limits = np.ones(lost.shape)
    some = np.broadcast_to(lost < of, lost.shape)
    limits[some] = beta.ppf(CERTAINTY, lost + 1, np.maximum(of - lost, 1))[some]
    return limits


def choose_parents(gains: Floats) -> dict[int, int]:
    """Choose the parent of each child, so that all gains (k, k) together are large.

    Parents are added one by one, each time the one that gains most, for as long as any gains: it takes in the
    children that it serves better than their parent, and is a child no more itself.
    """
    parents: list[int] = []
    best = 0.0
    while True:
        added = [
            _total(gains, [*parents, label]) if label not in parents else 0.0 for label in range(len(gains))
        ]
        most = int(np.argmax(added))
        if added[most] <= best:
            return _assign(gains, parents)
        parents.append(most)
        best = added[most]


def learn(
    y: NDArray[np.int64], task: Task, *, confidence: float = CONFIDENCE, support: int = SUPPORT
) -> Dependencies:
    """Learn the dependencies of labels y (N, k) that hold for `confidence` of at least `support` records.

    Raises `task.mismatch` for a task whose records have one class, `config.invalid` for a confidence outside
    (0, 1] or a support below 1, and `data.too_few` where no dependency holds.
    """
    if not task.multi_label:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"A record of the task '{task.name}' has one class: dependencies are between labels.",
        )
    if not 0 < confidence <= 1 or support < 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"confidence {confidence} must be above 0 and at most 1, and support {support} at least 1.",
        )
    absences = Absences.of(y)
    chosen = choose_parents(absences.gains(confidence, support))
    if not chosen:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"No label's absence implies another's for {confidence:g} of at least {support} of the {len(y)} "
            "records: lower --confidence or --support, or ask about all labels.",
        )
    return Dependencies(
        task=task.name,
        dependencies=tuple(
            Dependency(
                parent=task.classes[parent],
                child=task.classes[child],
                confidence=float(absences.confidence[parent, child]),
                missed=float(absences.missed[parent, child]),
                support=int(absences.support[parent]),
            )
            for child, parent in sorted(chosen.items(), key=lambda pair: (pair[1], pair[0]))
        ),
    )


def _total(gains: Floats, parents: Sequence[int]) -> float:
    """Return what all children together gain by these parents."""
    served = gains[list(parents)].max(axis=0)
    served[list(parents)] = 0.0
    return float(served.sum())


def _assign(gains: Floats, parents: Sequence[int]) -> dict[int, int]:
    """Return the parent that each child gains most by, for every label that gains and is no parent."""
    children = [label for label in range(len(gains)) if label not in parents]
    if not parents:
        return {}
    best = {child: max(parents, key=lambda parent: float(gains[parent, child])) for child in children}
    return {child: parent for child, parent in best.items() if gains[parent, child] > 0}
