"""Mechanisms that answer a query with a set of labels."""

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from ostraka.common.mechanism.value import Parameters, Positive, Value, invalid_plan
from ostraka.common.sharing.label_sets import MOST_SETS, count_sets


class Check(Value):
    """Answer only where the votes, with noise of `sigma`, reach `threshold` votes for one side."""

    sigma: Positive
    threshold: Positive


class _PerLabel(Parameters):
    multi_label: ClassVar[bool] = True

    sigma: Positive
    check: Check | None = None

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return (self.sigma,) if self.check is None else (self.check.sigma, self.sigma)


class Binary(_PerLabel):
    """Release each label that has more noisy votes for it than against it (000, section 3.1)."""

    kind: Literal["binary"] = "binary"


class Tau(_PerLabel):
    """Binary on ballots scaled down to an L2 norm of at most `tau` (000, section 3.2)."""

    kind: Literal["tau"] = "tau"
    tau: Positive

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for a radius that clips no ballot of so many labels."""
        _check_radius("tau", self.tau, math.sqrt(classes), classes)


class L1(_PerLabel):
    """Binary on ballots scaled down to an L1 norm of at most `tau1`: Private-kNN's rule, the baseline."""

    kind: Literal["l1"] = "l1"
    tau1: Positive

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for a radius that clips no ballot of so many labels."""
        _check_radius("tau1", self.tau1, float(classes), classes)


class Powerset(_PerLabel):
    """Release the label set with the most noisy votes, of at most `max_positives` labels (000, I.2)."""

    kind: Literal["powerset"] = "powerset"
    max_positives: Annotated[int, Field(ge=1)] | None = None

    def width(self, classes: int) -> int:
        """Label sets, each with a count of its own."""
        return count_sets(classes, self.max_positives)

    def check_classes(self, classes: int) -> None:
        """Raise `plan.invalid` for more positives than labels, or more sets than a ballot can hold."""
        if self.max_positives is not None and self.max_positives > classes:
            raise invalid_plan(
                f"max_positives is {self.max_positives} and the task has {classes} labels; ask for fewer"
            )
        if self.width(classes) > MOST_SETS:
            raise invalid_plan(
                f"{classes} labels make more than the {MOST_SETS} label sets of a ballot; "
                "lower max_positives, or choose mechanism tau"
            )


def _check_radius(name: str, radius: float, largest: float, classes: int) -> None:
    if radius > largest:
        raise invalid_plan(
            f"{name} is {radius:g}, which clips nothing: a ballot of {classes} labels has a norm of at most "
            f"{largest:g}; lower it, or choose mechanism binary"
        )
