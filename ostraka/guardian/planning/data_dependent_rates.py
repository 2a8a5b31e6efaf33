"""What queries cost on votes that are known, under a data-dependent bound."""

from functools import cache

import numpy as np

from ostraka.common.mechanism import BOUND, Mechanism
from ostraka.common.planning.search.allowance import Allowance, Rate
from ostraka.common.planning.search.forecast import Forecast
from ostraka.common.planning.search.forecasting import Forecaster
from ostraka.common.planning.search.search import Rates
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.mechanisms.votes import tally_votes
from ostraka.guardian.noise import LATTICE
from ostraka.guardian.planning.expected import influence

CHARGED: dict[BOUND, int] = {"theorem6": 100, "exact": 40}
"""Queries of a sample that settings are compared by; REPORTED for what is told of those found."""
REPORTED = 400
_SEED = 0


def data_dependent_rates(forecaster: Forecaster, bound: BOUND, charged: int) -> Rates:
    """Return what queries of the forecaster's sample cost on average under `bound`.

    So many as `charged` are charged, at outcomes of checks that are drawn once, so that settings compare.
    """
    sample = forecaster.sample.thinned(charged)
    few = Forecaster(sample)
    drawn = np.random.default_rng(_SEED).random((len(sample.counts), sample.classes))

    @cache
    def cost(mechanism: Mechanism, order: float, sensitivity: float) -> float:
        given = few.forecast(mechanism).given
        answers = mechanism.answers(sample.classes)
        answered = np.broadcast_to(drawn[:, : given.shape[1]] < given, (len(given), answers))
        tally = tally_votes(
            mechanism,
            few.ballots(mechanism),
            answered,
            classes=sample.classes,
            teachers=sample.teachers,
        )
        return charge(tally, order, bound, influence(sensitivity), lattice=LATTICE) / len(given)

    def rate(mechanism: Mechanism, forecast: Forecast, allowance: Allowance) -> Rate:
        each = max(cost(mechanism, allowance.order, allowance.sensitivity), AMOUNT_UNIT)
        return Rate(each, each)

    return rate
