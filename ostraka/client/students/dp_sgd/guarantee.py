"""The guarantee of DP-SGD training, and the noise it needs, by privacy loss distributions."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self

from ostraka.common.console.texts import number_text
from ostraka.common.errors import ErrorCode, OstrakaError

GRID = 3e-4
"""Grid of the accounting in epsilon, as a fraction of the target epsilon."""
_STRIDES = ((2.0, 1e-2), (1.25, 1e-3), (1.06, GRID), (1.015, GRID), (1.004, GRID))
"""Factors by which the noise is decreased, each with the accounting grid for its trials: coarse grids are
quick."""
_ORDERS = (*range(2, 33), 48, 64, 96, 128, 256, 512)


@dataclass(frozen=True)
class Noise:
    """The noise of one training.

    Attributes:
        multiplier: standard deviation of the noise on a batch's sum of gradients, in clipping norms.
        rate: probability that a record is in a batch.
        steps: number of batches.
    """

    multiplier: float
    rate: float
    steps: int

    def epsilon(self, delta: float, *, grid: float = 1e-4) -> float:
        """Return an upper bound of the training's epsilon, by privacy loss distributions with this `grid`.

        Neighbours differ in one record that is present or absent. Losses are rounded up ("connect the dots",
        Doroshenko et al. 2022), in both directions.
        """
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        both = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
        return self._cost(lambda: PLDAccountant(both, value_discretization_interval=grid), delta)

    def epsilon_by_moments(self, delta: float) -> float:
        """Return a looser upper bound by Renyi divergences, which is fast."""
        from dp_accounting.rdp import RdpAccountant

        return self._cost(lambda: RdpAccountant(_ORDERS), delta)

    def _cost(self, accountant: Callable[[], Any], delta: float) -> float:
        import dp_accounting

        step = dp_accounting.PoissonSampledDpEvent(self.rate, dp_accounting.GaussianDpEvent(self.multiplier))
        return float(accountant().compose(step, self.steps).get_epsilon(delta))


@cache
def calibrate(epsilon: float, delta: float, rate: float, steps: int) -> Noise:
    """Return the least noise, to half a percent, whose training stays within epsilon at delta."""
    enough = Noise(1.0, rate, steps)
    while enough.epsilon_by_moments(delta) > epsilon or enough.epsilon(delta, grid=GRID * epsilon) > epsilon:
        enough = replace(enough, multiplier=2 * enough.multiplier)
    for stride, grid in _STRIDES:
        less = replace(enough, multiplier=enough.multiplier / stride)
        while less.epsilon(delta, grid=grid * epsilon) <= epsilon:
            enough = less
            less = replace(less, multiplier=less.multiplier / stride)
    return enough


def missing() -> OstrakaError:
    """Return the error that is raised if the extra is not installed."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        "DP-SGD needs Opacus, which is not installed: install it with pip install 'ostraka[dpsgd]'.",
    )


_DIGITS = 10_000
"""Epsilons are rounded up to multiples of one over this."""


@dataclass(frozen=True)
class DpSgdGuarantee:
    """(epsilon, delta)-differential privacy of a network for every record that it learned from.

    Neighbours differ in one record, its features and its labels, that is present or empty; the number of
    records is public.

    Attributes:
        epsilon: an upper bound for the whole training.
        delta: the delta of this epsilon.
        noise_multiplier: standard deviation of the noise, in clipping norms.
        sampling_rate: probability that a record is in a batch.
        steps: number of batches.
        clip: norm to which a record's gradient was clipped.
    """

    epsilon: float
    delta: float
    noise_multiplier: float
    sampling_rate: float
    steps: int
    clip: float

    @classmethod
    def of(cls, noise: Noise, epsilon: float, delta: float, clip: float) -> Self:
        """Return the guarantee of noise calibrated to `epsilon`; if its rounded epsilon is smaller, that
        one."""
        spent = noise.epsilon(delta, grid=GRID * epsilon)
        rounded = math.ceil(_DIGITS * spent) / _DIGITS
        return cls(
            epsilon if spent <= epsilon < rounded else rounded,
            delta,
            noise.multiplier,
            noise.rate,
            noise.steps,
            clip,
        )


def dp_sgd_words(guarantee: Mapping[str, Any]) -> str:
    """Return the guarantee of a saved student, given by its fields, and what it does not cover."""
    return (
        "The saved student is DP for each record that it learned from, own records and "
        f"records of the pool: epsilon {guarantee['epsilon']:g} at delta "
        f"{number_text(guarantee['delta'])}, for one record that is present or empty. "
        "This does not cover the metrics, or any other student of these records: each "
        "further student spends privacy again."
    )
