"""Dependencies between labels, learned from own labelled records.

Dziedzic et al. 2023, Appendix D, describe absence; presence uses the complements of the labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from ostraka.client.run.dependency_rules import IMPLIES, Dependencies, Dependency
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task

Floats = NDArray[np.float64]
CONFIDENCE = 0.95
"""Default confidence: a rule may fail for one in twenty records without the parent; `Absences.gains` accounts
for the loss."""
SUPPORT = 20
"""Default support: the minimum number of records at which one exception still leaves `CONFIDENCE`."""
CERTAINTY = 0.95
"""Confidence of the limit on lost labels: a higher one would exclude every rule for rare labels."""


@dataclass(frozen=True)
class Absences:
    """How labels are absent together, parents in rows and children in columns.

    Attributes:
        confidence: fraction of the records without the parent that are without the child, (k, k); NaN on the
            diagonal and if no record is without the parent. Table 3 of Dziedzic et al. 2023.
        missed: upper bound, with confidence `CERTAINTY` (Clopper and Pearson), on the fraction of the records
            with the child that are without the parent, (k, k); 1 if no record has the child.
        absent: fraction of the records with a known label that are without it, (k,).
        support: number of records without it, int64 (k,).
    """

    confidence: Floats = field(repr=False)
    missed: Floats = field(repr=False)
    absent: Floats = field(repr=False)
    support: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, y: NDArray[np.int64]) -> "Absences":
        """Count labels y (N, k) of 0, 1 and UNKNOWN; a pair counts if both are known."""
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
        """Return the gain of asking a child only after its parent, (k, k); 0 if the rule is not good enough.

        The gain is the fraction of queries that are not asked about the child, minus the fraction of the
        child's records that may be lost by that. It is negative for unrelated labels, however rare they are.
        """
        good = (self.confidence >= confidence) & (self.support[:, None] >= support)
        return np.where(good, np.maximum(self.absent[:, None] - self.missed, 0.0), 0.0)


def _at_most(lost: NDArray[np.int64], of: NDArray[np.int64]) -> Floats:
    """Return upper limits of fractions of which `lost` were counted among `of`."""
    limits = np.ones(lost.shape)
    some = np.broadcast_to(lost < of, lost.shape)
    limits[some] = beta.ppf(CERTAINTY, lost + 1, np.maximum(of - lost, 1))[some]
    return limits


def complement(y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return labels with 0 and 1 swapped; unknown labels stay unknown."""
    return np.where(y == UNKNOWN, UNKNOWN, 1 - y)


def choose_rules(gains: Floats) -> dict[int, tuple[int, int]]:
    """Choose the parent of each child, and the value that implies it, for large gains.

    Greedy: the rule with the largest gain is taken first, for absence or presence, then the next one that
    leaves trees: its child has no parent yet, and is not its own ancestor. A rule's savings do not depend on
    whether its parent was asked or implied, so gains add up over all levels; the sum is at least half of the
    maximum (own derivation, docs/dependencies.md).

    Args:
        gains: (2, k, k), of parents in rows that imply children in columns, by absence and by presence.
    """
    chosen: dict[int, tuple[int, int]] = {}
    for place in np.argsort(-gains, axis=None, kind="stable").tolist():
        value, parent, child = map(int, np.unravel_index(place, gains.shape))
        if gains[value, parent, child] <= 0:
            break
        if child not in chosen and child not in _line_of(parent, chosen):
            chosen[child] = (parent, value)
    return chosen


def _line_of(label: int, chosen: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return a label, its parent, the parent's parent, and so on."""
    line = [label]
    while line[-1] in chosen:
        line.append(chosen[line[-1]][0])
    return line


def learn(
    y: NDArray[np.int64], task: Task, *, confidence: float = CONFIDENCE, support: int = SUPPORT
) -> Dependencies:
    """Learn the dependencies of labels y (N, k) with this `confidence` and at least `support` records.

    Raises `task.mismatch` for a single-label task, `config.invalid` for a confidence outside (0, 1] or a
    support below 1, and `data.too_few` if there is no dependency.
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
    known = Absences.of(y), Absences.of(complement(y))
    chosen = choose_rules(np.stack([each.gains(confidence, support) for each in known]))
    if not chosen:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"No rule holds for a share of {confidence:g} of at least {support} of the {len(y)} records: "
            "lower --confidence or --support, or ask about all labels.",
        )
    return Dependencies(
        task=task.name,
        dependencies=tuple(
            Dependency(
                parent=task.classes[parent],
                child=task.classes[child],
                confidence=float(known[value].confidence[parent, child]),
                missed=float(known[value].missed[parent, child]),
                support=int(known[value].support[parent]),
                implies=IMPLIES[value],
            )
            for child, (parent, value) in sorted(chosen.items(), key=lambda pair: (pair[1], pair[0]))
        ),
    )
