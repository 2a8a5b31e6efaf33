"""Mechanisms that answer a query with one class."""

import math
from typing import Annotated, Literal

from pydantic import Field

from ostraka.common.mechanism.value import Parameters, Positive

Fraction = Annotated[float, Field(ge=0, le=1)]


class GnMax(Parameters):
    """Release the class with the most votes after noise of standard deviation `sigma` votes."""

    kind: Literal["gnmax"] = "gnmax"
    sigma: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return (self.sigma,)


class Confident(Parameters):
    """Release GNMax with `sigma2` where the largest count and noise of `sigma1` reach `threshold` votes."""

    kind: Literal["confident"] = "confident"
    sigma1: Positive
    sigma2: Positive
    threshold: Positive

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return (self.sigma1, self.sigma2)


class Interactive(Parameters):
    """Release GNMax with `sigma2` where the votes differ from what a student believes (002, Algorithm 2).

    The check is on max_j (n_j - n p_j) and noise of `sigma1`, p being the student's probabilities. Where it
    fails, the querying party takes its student's own label if its largest p exceeds `confidence`.
    """

    kind: Literal["interactive"] = "interactive"
    sigma1: Positive
    sigma2: Positive
    threshold: Positive
    confidence: Fraction

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return (self.sigma1, self.sigma2)


class LnMax(Parameters):
    """Release the class with the most votes after Laplace noise of scale 1/`gamma` votes, the baseline."""

    kind: Literal["lnmax"] = "lnmax"
    gamma: Positive

    @property
    def scale(self) -> float:
        """Scale of the Laplace noise, in votes."""
        return 1 / self.gamma

    @property
    def sigmas(self) -> tuple[float, ...]:
        """Standard deviations of all noise, in votes."""
        return (math.sqrt(2) * self.scale,)

    @property
    def reach(self) -> float:
        """How far noise may carry a count, in votes: 750 scales, because e^-750 is no number any more."""
        return 750 * self.scale
