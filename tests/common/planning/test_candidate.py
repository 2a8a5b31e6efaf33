"""How many queries fit, and at which order most do."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    Binary,
    Check,
    Confident,
    GnMax,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.planning.candidate import Candidate, fits, propose_order
from ostraka.common.privacy import ORDERS, budget_amount, budget_rdp
from ostraka.common.privacy.argmax import argmax_rdp

CONFIDENT = Confident(sigma1=200.0, sigma2=40.0, threshold=300.0)
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=40.0),
    CONFIDENT,
    LnMax(gamma=0.05),
    Binary(sigma=20.0),
    Binary(sigma=20.0, check=Check(sigma=50.0, threshold=80.0)),
    Tau(sigma=20.0, tau=1.5, check=Check(sigma=50.0, threshold=80.0)),
    Powerset(sigma=20.0, max_positives=3),
]


def available(epsilon: float, order: float) -> int:
    return budget_amount(budget_rdp(epsilon, 1e-5, order))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
@pytest.mark.parametrize("answered", [True, False])
def test_what_fits_is_within_the_budget_and_one_more_is_not(mechanism: Mechanism, answered: bool) -> None:
    candidate = Candidate(mechanism, classes=8)
    cost, left = candidate.cost(8.0), available(3.0, 8.0)
    answers = candidate.answers_given(cost, answered=answered)
    found = fits(cost, answers, left)
    assert found
    assert cost.reservation(found, answers) <= left < cost.reservation(found + 1, answers)


def test_a_batch_of_clusters_costs_the_same_whatever_its_size() -> None:
    candidate = Candidate(NoiseCluster(sigma=5.0), classes=8)
    cost = candidate.cost(8.0)
    whole = cost.reservation(1, 1)
    assert fits(cost, 1, whole) is None
    assert fits(cost, 1, whole - 1) == 0
    assert candidate.rdp(8.0, 1) == candidate.rdp(8.0, 1000) == pytest.approx(cost.batch)


def test_without_a_check_every_query_is_answered() -> None:
    candidate = Candidate(GnMax(sigma=40.0), classes=8)
    assert candidate.rdp(8.0, 10, answered=False) == candidate.rdp(8.0, 10)
    assert candidate.rdp(8.0, 10) == pytest.approx(10 * argmax_rdp(8.0, 1.0, 40.0, 8))
    confident = Candidate(CONFIDENT, classes=8)
    assert 0 < confident.rdp(8.0, 10, answered=False) < confident.rdp(8.0, 10)


def test_several_votes_of_a_person_leave_room_for_fewer_queries() -> None:
    one, three = (Candidate(GnMax(sigma=40.0), 8, sensitivity) for sensitivity in (1.0, 3.0))
    found = [fits(c.cost(8.0), 1, available(3.0, 8.0)) or 0 for c in (one, three)]
    assert found[0] / 9 == pytest.approx(found[1], rel=0.02)


@pytest.mark.parametrize("mechanism", [*MECHANISMS, NoiseCluster(sigma=5.0)], ids=str)
def test_no_order_pays_for_more_queries_than_the_one_proposed(mechanism: Mechanism) -> None:
    candidate = Candidate(mechanism, classes=8)
    best = propose_order(candidate, 3.0, 1e-5)

    def queries(order: float) -> float:
        batch = candidate.cost(order).batch
        return budget_rdp(3.0, 1e-5, order) / (batch or candidate.rdp(order, 1))

    assert queries(best) >= max(queries(order) for order in ORDERS[::9]) * (1 - 1e-6)


def test_the_order_depends_on_the_mechanism() -> None:
    """A pure guarantee costs ever less than in proportion to the order, so a large order is best."""
    gaussian, laplace = (
        propose_order(Candidate(m, 8), 3.0, 1e-5) for m in (GnMax(sigma=40.0), LnMax(gamma=1.0))
    )
    assert laplace > 2 * gaussian


def test_a_budget_that_pays_for_nothing_is_refused() -> None:
    with pytest.raises(OstrakaError) as refused:
        propose_order(Candidate(GnMax(sigma=40.0), 8), 1e-6, 1e-12)
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL
