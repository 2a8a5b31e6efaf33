"""Families of mechanisms that are searched, with the ranges of their parameters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Check, Confident, GnMax, Mechanism, Powerset, Tau, Threshold
from ostraka.common.planning.search.vote_sample import VoteSample

MIN_SIGMA = 1.0
"""Minimum noise that policies allow by default, in votes."""
_DIGITS = 3
"""Number of digits of every value that is tried, because people copy the result as an option."""
_MIN_SHARE = 0.01
"""Minimum share of votes at which a rare class is released; below it, noise would decide."""
_COMMON = 0.95
"""The share of records whose labels must fit into a label set."""


@dataclass(frozen=True)
class Axis:
    """A parameter between two positive numbers."""

    name: str
    low: float
    high: float

    def at(self, place: float) -> float:
        """Return the value at a place from 0 (low) to 1 (high) on a logarithmic scale, with three digits."""
        value = self.low * (self.high / self.low) ** min(max(place, 0.0), 1.0)
        return float(f"{value:.{_DIGITS}g}")


@dataclass(frozen=True)
class Family:
    """Mechanisms of one kind, with or without a check."""

    kind: str
    axes: tuple[Axis, ...]
    make: Callable[[Mapping[str, float]], Mechanism]

    def at(self, places: Sequence[float]) -> Mechanism:
        """Return the mechanism at places from 0 to 1 on the axes."""
        return self.make({axis.name: axis.at(place) for axis, place in zip(self.axes, places, strict=True)})


def families(sample: VoteSample, kind: str | None = None) -> list[Family]:
    """Return the families that a sample can judge, only those of `kind` if it is given.

    Counts of yeses alone are not enough to judge clipped ballots or label sets. Raises `plan.invalid` for a
    kind that is not among the families.
    """
    found = _of_labels(sample) if sample.multi_label else _of_classes(sample)
    possible = [one for one in found if _possible(one, sample.classes)]
    kinds = list(dict.fromkeys(one.kind for one in possible))
    if kind is not None and kind not in kinds:
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"Mechanism {kind} is not searched on these votes: choose from {', '.join(kinds)}.",
        )
    return [one for one in possible if kind in (None, one.kind)]


def _of_classes(sample: VoteSample) -> list[Family]:
    teachers = sample.teachers
    answer = _noise("sigma2", teachers)
    check = _noise("sigma1", 4 * teachers)
    plain = [
        Family("gnmax", (_noise("sigma", teachers),), lambda v: GnMax(sigma=v["sigma"])),
        Family("confident", (answer, check, _threshold(teachers)), Confident.model_validate),
    ]
    return [*plain, _of_rare_class(sample)] if sample.has_rare_class else plain


def _of_rare_class(sample: VoteSample) -> Family:
    """Return thresholds on the votes for the rarer of the two classes, whichever it is."""
    second = float(sample.truth.mean()) < 0.5

    def make(values: Mapping[str, float]) -> Mechanism:
        share = values["share"] if second else round(1 - values["share"], _DIGITS)
        return Threshold(sigma=values["sigma"], share=share)

    return Family("threshold", (_noise("sigma", sample.teachers), Axis("share", _MIN_SHARE, 0.5)), make)


def _of_labels(sample: VoteSample) -> list[Family]:
    teachers = sample.teachers
    sigma = _noise("sigma", sample.teachers)
    check = (_noise("sigma1", 4 * teachers), _threshold(teachers))
    plain = [Family("binary", (sigma,), lambda v: Binary(sigma=v["sigma"]))]
    if sample.ballots is not None:
        most = max(1, int(np.quantile(sample.truth.sum(axis=1), _COMMON, method="inverted_cdf")))
        tau = Axis("tau", min(0.5, sample.classes**0.5), sample.classes**0.5)
        # Three digits may round a radius above the largest possible one, which would clip nothing.
        plain.append(
            Family("tau", (sigma, tau), lambda v: Tau(sigma=v["sigma"], tau=min(v["tau"], tau.high)))
        )
        plain.append(Family("powerset", (sigma,), lambda v: Powerset(sigma=v["sigma"], max_positives=most)))
    return [*plain, *(_with_check(one, check) for one in plain)]


def _with_check(family: Family, check: tuple[Axis, ...]) -> Family:
    def make(values: Mapping[str, float]) -> Mechanism:
        checked = Check(sigma=values["sigma1"], threshold=values["threshold"])
        return family.make(values).model_copy(update={"check": checked})

    return Family(family.kind, (*family.axes, *check), make)


def _noise(name: str, teachers: int) -> Axis:
    # Up to twice all votes, where answers are hardly better than chance.
    return Axis(name, MIN_SIGMA, max(2.0, 2.0 * teachers))


def _threshold(teachers: int) -> Axis:
    # From an eighth of the votes, which some class nearly always has, to more than all of them.
    return Axis("threshold", max(1.0, teachers / 8), 1.5 * teachers)


def _possible(family: Family, classes: int) -> bool:
    try:
        family.at([0.5] * len(family.axes)).check_classes(classes)
    except OstrakaError:
        return False
    return True
