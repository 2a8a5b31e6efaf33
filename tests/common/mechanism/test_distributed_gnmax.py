"""GNMax with the parties' noise: made of GNMax, what each party draws, what it costs."""

import math

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident, DistributedGnMax, GnMax, Interactive, Mechanism, distribute
from ostraka.common.mechanism.distributed_gnmax import MAX_HONEST
from ostraka.common.mechanism.message import mechanism_message, mechanism_of
from ostraka.common.privacy.gaussian import noise_rho


@pytest.mark.parametrize(("quorum", "colluders", "honest"), [(50, 0, 49), (40, 5, 34), (2, 0, 1), (8, 6, 1)])
def test_the_quorum_less_colluders_and_one_is_relied_on(quorum: int, colluders: int, honest: int) -> None:
    made = distribute(GnMax(sigma=40.0), quorum, colluders)
    assert made == DistributedGnMax(sigma=40.0, honest=honest)
    (draw,) = made.party_draws(3, 5)
    assert (draw.kind, draw.shape) == ("gaussian", (3, 5))
    assert draw.scale == pytest.approx(40 / math.sqrt(honest), rel=1e-14)
    assert made.draws(3, 5) == []
    assert distribute(made, quorum, colluders) == made, "as a sentence may propose it, with more noise"
    assert made.sigmas == (40.0,)


@pytest.mark.parametrize(("quorum", "colluders"), [(1, 0), (3, 2), (5, 9)])
def test_a_quorum_that_leaves_nobody_is_refused(quorum: int, colluders: int) -> None:
    with pytest.raises(OstrakaError, match=f"at least {colluders + 2}") as refused:
        distribute(GnMax(sigma=40.0), quorum, colluders)
    assert refused.value.code is ErrorCode.QUORUM_TOO_SMALL


class Other(GnMax):
    """A mechanism of another package that inherits from it."""


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        (Confident(sigma1=4.0, sigma2=2.0, threshold=3.0), "confident needs another draw"),
        (Interactive(sigma1=4.0, sigma2=2.0, threshold=3.0, confidence=0.9), "interactive needs"),
        (Other(sigma=4.0), "for mechanism gnmax alone"),
        (DistributedGnMax(sigma=4.0, honest=2), "already"),
    ],
)
def test_mechanisms_that_parties_cannot_noise_are_refused_by_name(mechanism: Mechanism, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        distribute(mechanism, 9, 0)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_fewer_colluders_than_none_are_refused() -> None:
    with pytest.raises(OstrakaError, match="0 or more"):
        distribute(GnMax(sigma=4.0), 9, -1)


@pytest.mark.parametrize(
    ("sigma", "honest"), [(2.0**-16, 5), (4.0, 0), (4.0, MAX_HONEST + 1), (0.001, 10_000)]
)
def test_noise_that_is_not_proved_is_refused(sigma: float, honest: int) -> None:
    with pytest.raises(OstrakaError) as refused:
        DistributedGnMax(sigma=sigma, honest=honest)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("votes", [1.0, 3.0])
def test_every_query_costs_all_its_counts_at_every_order(votes: float) -> None:
    made = DistributedGnMax(sigma=40.0, honest=8)
    cost = made.worst_case(8.0, votes, classes=10)
    assert (cost.batch, cost.check) == (0.0, 0.0)
    assert cost.answer == 8.0 * noise_rho(math.sqrt(2) * votes, 40.0)
    assert cost.answer > GnMax(sigma=40.0).worst_case(8.0, votes, classes=10).answer


def test_it_comes_back_from_its_message() -> None:
    made = DistributedGnMax(sigma=40.0, honest=8)
    assert mechanism_of(mechanism_message(made)) == made
