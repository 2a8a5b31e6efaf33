"""Codes of labels in a sum, and how sums of codes are converted to scores."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from ostraka.client.learners.problem import OwnRecords, Problem, share_of_ones
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import Floats

RARE = 0.25
"""Share of the rarer of two classes among own records below which the code is y - p0, so no noise is spent on
what is already known."""
WITHIN_LABELS = 1.5
"""Norm to which a record's labels are clipped without own records: two labels, and most of a third."""
WITHIN = 0.75
"""Fraction of own records whose labels, minus the mean of each, are not clipped."""
DEVIATIONS = 2.5
"""Numbers are clipped at this many standard deviations of own numbers: 1% if they are normal."""
TOLD_SHARES = "the share of each class or label among your own labelled records"
TOLD_NUMBERS = "mean and deviation of the numbers of your own labelled records"


@dataclass(frozen=True)
class Coding:
    """Codes of labels; scores are `scale` times a sum's regression, plus `shift`.

    Attributes:
        codes: of norm at most 1.
        scale: of a code, in the units of labels.
        shift: (k,), of the scores.
        second_moment: mean square of an entry of a code: of own records, or an upper bound.
        tells: what codes reveal to the parties about own records.
        rare: whether they are of two classes of which one is rare.
    """

    codes: Codes
    scale: float
    shift: Floats = field(repr=False)
    second_moment: float
    tells: tuple[str, ...] = ()
    rare: bool = False


def make_coding(problem: Problem) -> Coding:
    """Return the codes of a problem, selected by own records if there are any.

    The score of a number is the number; for more than two classes, it is relative to 1/k; for two classes or
    a label, relative to one half.
    """
    own = problem.labelled
    if problem.kind == "number":
        center, scale = number_scale(problem)
        told = () if own is None else (TOLD_NUMBERS,)
        return _measure(NumberCodes(center, scale), scale, np.array([center]), own, told)
    if problem.kind == "labels":
        return _code_labels(problem, own)
    if not problem.binary:
        k = problem.outputs
        scale = math.sqrt(1 - 1 / k)
        return _measure(ClassCodes((np.eye(k) - 1 / k) / scale), scale, np.zeros(k), own)
    share = 0.5 if own is None else float(share_of_ones(own)[0])
    if RARE <= share <= 1 - RARE:
        return _measure(ClassCodes(np.array([[-1.0], [1.0]])), 0.5, np.zeros(1), own)
    scale = max(share, 1 - share)
    codes = ClassCodes(np.array([[-share], [1 - share]]) / scale)
    return replace(_measure(codes, scale, np.array([share - 0.5]), own, (TOLD_SHARES,)), rare=True)


def _code_labels(problem: Problem, own: OwnRecords | None) -> Coding:
    if own is None:
        zeros = np.zeros(problem.outputs)
        return _measure(LabelCodes(zeros, WITHIN_LABELS), WITHIN_LABELS, zeros - 0.5, own)
    shares = share_of_ones(own)
    scale = float(np.quantile(np.linalg.norm(own.y - shares, axis=1), WITHIN))
    return _measure(LabelCodes(shares, scale), scale, shares - 0.5, own, (TOLD_SHARES,))


def _measure(
    codes: Codes, scale: float, shift: Floats, own: OwnRecords | None, told: tuple[str, ...] = ()
) -> Coding:
    measured = 0.0 if own is None else float((code_own(codes, own) ** 2).mean())
    return Coding(codes, scale, shift, measured or 1 / codes.width, told)


def code_own(codes: Codes, own: OwnRecords) -> Floats:
    """Return the codes (n, k) of own records."""
    coded: Floats = codes(own.y)
    return coded


def number_scale(problem: Problem) -> tuple[float, float]:
    """Return the shift and the scale of numbers, from own numbers or from the range."""
    own = problem.labelled
    if own is None or not np.std(own.y) > 0:
        return (problem.low + problem.high) / 2, (problem.high - problem.low) / 2
    return float(np.mean(own.y)), DEVIATIONS * float(np.std(own.y))
