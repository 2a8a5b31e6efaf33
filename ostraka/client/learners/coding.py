"""Which codes labels get in a sum, and how sums of codes read as scores."""

import math
from dataclasses import dataclass, field

import numpy as np

from ostraka.client.learners.problem import OwnRecords, Problem, share_of_ones
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import Floats

RARE = 0.25
"""Of the rarer of two classes, as own records have it: below, the code is y - p0, which wastes no noise on the
class that is known beforehand."""
WITHIN_LABELS = 1.5
"""Norm to which the labels of a record are clipped: two labels, and most of a third."""
DEVIATIONS = 2.5
"""Of own numbers, beyond which a number is clipped: of a normal one 1%."""


@dataclass(frozen=True)
class Coding:
    """Codes, and what is added to `scale` times a sum's regression to get scores.

    Attributes:
        codes: of norm at most 1.
        scale: of a code, in the units of labels.
        shift: (k,), of the scores.
        second_moment: mean square of a value of a code, by own records, or at most.
        rare: the share of class 1, where codes are y - p0.
    """

    codes: Codes
    scale: float
    shift: Floats = field(repr=False)
    second_moment: float
    rare: float | None = None


def make_coding(problem: Problem) -> Coding:
    """Return the codes of a problem, as own records say where there are any."""
    own = problem.labelled
    codes, scale, shift, rare = _choose_codes(problem, own)
    measured = 0.0 if own is None else float((code_own(codes, own) ** 2).mean())
    return Coding(codes, scale, shift, measured or 1 / codes.width, rare)


def code_own(codes: Codes, own: OwnRecords) -> Floats:
    """Return the codes (n, k) of own records."""
    coded: Floats = codes(own.y)  # type: ignore[arg-type]
    return coded


def _choose_codes(problem: Problem, own: OwnRecords | None) -> tuple[Codes, float, Floats, float | None]:
    if problem.kind == "number":
        center, scale = number_scale(problem)
        return NumberCodes(center, scale), scale, np.array([center]), None
    if problem.kind == "labels":
        zeros = np.zeros(problem.outputs)
        return LabelCodes(zeros, WITHIN_LABELS), WITHIN_LABELS, zeros - 0.5, None
    if not problem.binary:
        k = problem.outputs
        scale = math.sqrt(1 - 1 / k)
        return ClassCodes((np.eye(k) - 1 / k) / scale), scale, np.zeros(k), None
    share = 0.5 if own is None else float(share_of_ones(own)[0])
    if RARE <= share <= 1 - RARE:
        return ClassCodes(np.array([[-1.0], [1.0]])), 0.5, np.zeros(1), None
    scale = max(share, 1 - share)
    return ClassCodes(np.array([[-share], [1 - share]]) / scale), scale, np.array([share - 0.5]), share


def number_scale(problem: Problem) -> tuple[float, float]:
    """Return what is taken away from a number, and what it is divided by: of own numbers, or of the range."""
    own = problem.labelled
    if own is None or not np.std(own.y) > 0:
        return (problem.low + problem.high) / 2, (problem.high - problem.low) / 2
    return float(np.mean(own.y)), DEVIATIONS * float(np.std(own.y))
