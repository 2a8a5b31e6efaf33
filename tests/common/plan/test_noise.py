"""Plans whose noise the parties draw."""

from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import DistributedGnMax, GnMax
from ostraka.common.plan.limits import check_ring
from ostraka.common.plan.plan import Plan
from tests.common.plan.test_switches import FIELDS

PARTIES = ("a", "b", "c", "d", "e")


def plan_of(honest: int, **changed: Any) -> Plan:
    mechanism = DistributedGnMax(sigma=4.0, honest=honest)
    fields = FIELDS | {"parties": PARTIES, "quorum": 4, "ring_bits": 64, "mechanism": mechanism}
    return Plan(**fields | changed)


@pytest.mark.parametrize(("honest", "colluders"), [(3, 0), (1, 2)])
def test_a_plan_says_who_draws_noise_and_how_many_may_collude(honest: int, colluders: int) -> None:
    plan = plan_of(honest)
    assert Plan.parse(plan.serialize()) == plan
    assert (plan.noise, plan.colluders) == ("parties", colluders)
    assert plan.noise_growth == pytest.approx((5 / honest) ** 0.5)


def test_the_guardians_noise_is_that_of_the_plan() -> None:
    plan = plan_of(3, mechanism=GnMax(sigma=4.0))
    assert (plan.noise, plan.colluders, plan.noise_growth) == ("guardian", 0, 1.0)


def test_a_quorum_below_those_relied_on_and_one_is_refused() -> None:
    with pytest.raises(OstrakaError, match="at least 5") as refused:
        plan_of(4)
    assert refused.value.code is ErrorCode.QUORUM_TOO_SMALL


def test_noised_ballots_are_verified_on_plain_queries_alone() -> None:
    assert plan_of(3, ring_bits=61).ballots == "verified"
    assert plan_of(3, ring_bits=31, tally="blind").ballots == "verified"
    with pytest.raises(OstrakaError, match="have no proof; choose plain, or ballots unverified") as refused:
        plan_of(3, ring_bits=31, encoding="ckks")
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("changed", [{}, {"tally": "blind", "ring_bits": 32}])
def test_rows_that_hold_noise_are_not_held_against_votes(changed: dict[str, Any]) -> None:
    assert not plan_of(3, **changed).checks_row_sums
    assert plan_of(3, mechanism=GnMax(sigma=4.0), **changed).checks_row_sums


@pytest.mark.parametrize("switches", [("plain", "blind"), ("ckks", "aggregate"), ("ckks", "blind")])
def test_every_combination_of_the_switches_takes_it(switches: tuple[str, str]) -> None:
    encoding, tally = switches
    assert plan_of(3, encoding=encoding, tally=tally, ring_bits=32).noise == "parties"


def test_a_ring_has_room_for_the_noise_of_all_parties() -> None:
    wide = DistributedGnMax(sigma=1200.0, honest=1)
    check_ring(plan_of(3, mechanism=GnMax(sigma=300.0), tally="blind", ring_bits=32), 50)
    check_ring(plan_of(3, mechanism=wide, tally="blind", ring_bits=32, parties=PARTIES[:2], quorum=2), 50)
    with pytest.raises(OstrakaError) as refused:
        check_ring(plan_of(3, mechanism=wide, tally="blind", ring_bits=32), 50)
    assert refused.value.code is ErrorCode.PLAN_RING_TOO_SMALL
