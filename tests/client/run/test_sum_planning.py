"""Plans of sums that cost every party at most an epsilon."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from ostraka.client.run.sum_planning import (
    PlannedSums,
    SumAsking,
    plan_sums,
    require_affordable,
    warn_of_unverified,
)
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Gradients
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN, sent_order
from ostraka.common.privacy.gaussian import gaussian_budget
from ostraka.common.sums.sensitivity import MOVED_GRADIENT
from ostraka.common.task import Task
from ostraka.common.task.input import TensorInput
from ostraka.protos.ostraka.v1 import guardian_pb2

ROUNDS = 20
TASK = Task(name="insects", classes=("ant", "bee"), input=TensorInput(shape=(2,), range=(0, 1)))


@dataclass
class Guardian:
    """Says what plans cost as the ledger counts it, for parties of these orders, deltas and influences."""

    parties: dict[str, tuple[float, float, float]]
    fits: int | None = None
    asked: list[Plan] = field(default_factory=list)

    def plan(self, plan: Plan) -> guardian_pb2.PlanReply:
        self.asked.append(plan)
        costs = []
        for site, (order, delta, influence) in self.parties.items():
            cost = plan.mechanism.worst_case(order, influence, classes=plan.classes)
            paid = epsilon(plan.queries * cost.answer, order, delta)
            costs.append(
                guardian_pb2.PartyCost(
                    site=site,
                    order=sent_order(order),
                    delta=delta,
                    epsilon=paid,
                    budget_epsilon=8.0,
                    fits=self.fits,
                    records=300,
                )
            )
        return guardian_pb2.PlanReply(parties=costs, fits=self.fits)


def make(records_seen: list[int]) -> Callable[[float, int], Plan]:
    asking = SumAsking(TASK, ("a", "b"))

    def plan(mu: float, records: int) -> Plan:
        records_seen.append(records)
        mechanism = Gradients(parameters=10, sigma=MOVED_GRADIENT * math.sqrt(ROUNDS) / mu)
        return asking.plan(mechanism, ROUNDS, bytes(NONCE_BYTES))

    return plan


def planned(guardian: Guardian, budget: float) -> PlannedSums:
    return plan_sums(guardian.plan, make([]), budget)


@pytest.mark.parametrize(
    "parties",
    [
        {"a": (GAUSSIAN, 1e-5, 1.0)},
        {"a": (12.0, 1e-5, 1.0), "b": (20.0, 1e-6, 1.0)},
        {"a": (GAUSSIAN, 1e-3, 1.0), "b": (24.0, 1e-5, 3.0)},
    ],
)
def test_no_party_pays_more_and_one_pays_as_good_as_all(
    parties: dict[str, tuple[float, float, float]],
) -> None:
    for budget in (1.5, 8.0):
        guardian = Guardian(parties)
        found = planned(guardian, budget)
        largest = max(cost.epsilon for cost in found.costs)
        assert 0.995 * budget <= largest <= budget
        assert len(guardian.asked) <= 4, "few calls"
        assert found.plan == guardian.asked[-1], "what was priced is what is asked"


def test_a_gaussian_budget_is_met_by_the_exact_mu_of_its_epsilon() -> None:
    found = planned(Guardian({"a": (GAUSSIAN, 1e-5, 1.0)}), 1.0)
    assert found.mu == pytest.approx(math.sqrt(2 * gaussian_budget(1.0, 1e-5)), rel=0.01)


def test_a_plan_is_made_for_as_many_records_as_parties_declare() -> None:
    seen: list[int] = []
    found = plan_sums(
        Guardian({"a": (GAUSSIAN, 1e-5, 1.0), "b": (GAUSSIAN, 1e-5, 1.0)}).plan, make(seen), 1.0
    )
    assert found.records == seen[-1] == 600


def test_a_filter_of_renyi_takes_no_noise_and_tells_its_share() -> None:
    found = planned(Guardian({"a": (GAUSSIAN, 1e-5, 1.0), "b": (4.0, 1e-5, 1.0)}), 1.0)
    exact, renyi = found.costs
    assert renyi.epsilon == pytest.approx(exact.epsilon, rel=1e-6), "the same noise promises the same"
    assert renyi.charged_epsilon > 3 > exact.charged_epsilon
    assert renyi.share == pytest.approx(4 * found.mu**2 / 2 / budget_rdp(8.0, 1e-5, 4.0), rel=1e-3)


def test_a_budget_that_pays_for_no_sum_is_refused_before_anything_is_asked() -> None:
    found = planned(Guardian({"a": (GAUSSIAN, 1e-5, 1.0)}, fits=0), 1.0)
    with pytest.raises(OstrakaError) as refused:
        require_affordable(found)
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL
    require_affordable(replace(found, fits=1))
    require_affordable(replace(found, fits=None))


@pytest.mark.parametrize(
    ("values", "advice"),
    [(1024, None), (1025, "give --ballots verified"), (2**15 + 1, "at most 32,768 values can be checked")],
)
def test_who_chose_nothing_is_told_that_sums_are_not_verified(values: int, advice: str | None) -> None:
    plan = SumAsking(TASK, ("a", "b")).plan(
        Gradients(parameters=values, sigma=1.0), ROUNDS, bytes(NONCE_BYTES)
    )
    told = warn_of_unverified(plan, None)
    assert len(told) == (advice is not None)
    assert all(f"{values:,} values are not verified" in one and str(advice) in one for one in told)
    assert not warn_of_unverified(plan, "unverified")
