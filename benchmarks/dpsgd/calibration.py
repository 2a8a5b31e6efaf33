"""How much noise DP-SGD needs, by Opacus' accountant, and what dp_accounting says of it."""

import warnings
from dataclasses import dataclass
from functools import cache

from ostraka.common.errors import ErrorCode, OstrakaError


@dataclass(frozen=True)
class Noise:
    """What one training draws.

    Attributes:
        multiplier: deviation of the noise on a batch's sum of gradients, in clipping norms.
        rate: probability of each record to be in a batch.
        steps: how many batches.
    """

    multiplier: float
    rate: float
    steps: int

    def epsilon(self, delta: float) -> float:
        """Return the cost of training by dp_accounting's privacy loss distributions, not by Opacus.

        Neighbours differ in one record that is there or not there, as DP-SGD's accountants count.
        """
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        step = dp_accounting.PoissonSampledDpEvent(
            self.rate, dp_accounting.GaussianDpEvent(noise_multiplier=self.multiplier)
        )
        accountant = PLDAccountant(dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(step, self.steps)
        return float(accountant.get_epsilon(delta))


@cache
def calibrate(epsilon: float, delta: float, rate: float, steps: int) -> Noise:
    """Return the least noise, to 1% of epsilon, with which Opacus' PRV accountant stays within `epsilon`.

    Raises:
        OstrakaError: `config.invalid` where Opacus is not installed.
    """
    try:
        from opacus.accountants.utils import get_noise_multiplier
    except ImportError as exc:
        raise missing() from exc
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        multiplier = get_noise_multiplier(
            target_epsilon=epsilon, target_delta=delta, sample_rate=rate, steps=steps, accountant="prv"
        )
    return Noise(float(multiplier), rate, steps)


def missing() -> OstrakaError:
    """Return the error that refuses to train without the extra."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        "DP-SGD needs Opacus, which is not installed: install it with pip install 'ostraka[dpsgd]'.",
    )
