"""What a batch releases and costs: whatever sums arrive, nothing is refused, and no charge is unreserved."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    BOUND,
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.plan.choices import ENFORCE
from ostraka.common.plan.limits import check_ring
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.ledger import Charge, UnitKey
from ostraka.guardian.noise import ExactNoise
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.outcome import Outcome, tally
from ostraka.guardian.sessions.payers import Payer, payers, reservation
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.sessions.people import budget, cohort, everybody

BOUNDS: list[BOUND] = ["worst_case", "theorem6", "exact"]
ENFORCES: list[ENFORCE] = ["worst_case", "data_dependent"]
VOTE = 2**16
SITES = ("a", "b")
Steps = NDArray[np.int64]
CHECKS = [None, Check(sigma=2, threshold=8), Check(sigma=0.001, threshold=32_767)]
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=3),
    GnMax(sigma=2.0**-16),
    Confident(sigma1=3, sigma2=2, threshold=7),
    Confident(sigma1=0.0001, sigma2=300, threshold=32_767),
    Confident(sigma1=0.01, sigma2=0.001, threshold=1e-300),
    Interactive(sigma1=3, sigma2=2, threshold=3, confidence=0.9),
    Interactive(sigma1=0.001, sigma2=0.001, threshold=32_767, confidence=0),
    LnMax(gamma=0.3),
    LnMax(gamma=90_000),
    *(Binary(sigma=2, check=check) for check in CHECKS),
    *(Tau(sigma=2, tau=1.2, check=check) for check in CHECKS),
    Tau(sigma=500, tau=2.0**-16, check=CHECKS[2]),
    *(L1(sigma=2, tau1=1.5, check=check) for check in CHECKS),
    *(Powerset(sigma=2, max_positives=2, check=check) for check in CHECKS),
    Powerset(sigma=0.0001),
    NoiseCluster(sigma=2),
    NoiseCluster(sigma=0.001),
]


def plan_of(mechanism: Mechanism, queries: int, classes: int, ring_bits: Any, adjacency: Any) -> Plan:
    fitting: Any = adjacency if isinstance(mechanism, NoiseCluster) else "record"
    return Plan(
        nonce=bytes(16),
        task_digest=bytes(32),
        classes=classes,
        mechanism=mechanism,
        parties=SITES,
        quorum=2,
        queries=queries,
        batch_size=queries,
        multi_label=mechanism.multi_label,
        ring_bits=ring_bits,
        adjacency=fitting,
    )


def honest(plan: Plan, voters: int, draws: np.random.Generator) -> Steps:
    """Draw sums in lattice steps that ballots of `voters` make."""
    width = plan.mechanism.width(plan.classes)
    cells = plan.queries * width
    match plan.mechanism:
        case NoiseCluster():
            votes = draws.multinomial(voters, np.full(cells, 1 / cells)).reshape(-1, width)
        case Tau() | L1():
            return draws.integers(0, VOTE * voters + 1, (plan.queries, width))
        case Binary():
            votes = draws.integers(0, voters + 1, (plan.queries, width))
        case _:
            shares = draws.dirichlet(np.full(width, draws.choice([0.02, 0.3, 5.0])), plan.queries)
            votes = draws.multinomial(voters, shares)
    return np.asarray(VOTE * votes, dtype=np.int64)


def shifted(sums: Steps, how: str, half: int, draws: np.random.Generator) -> Steps:
    """Return what a querying party makes of the sums."""
    offset = np.zeros_like(sums)
    match how:
        case "random":
            offset = draws.integers(-half, half, sums.shape)
        case "half":
            offset = draws.choice([0, half - 1], sums.shape)
        case "steps":
            offset = draws.integers(-2, 3, sums.shape)
        case "moved":
            offset[:, 0] = VOTE * draws.integers(1, 9, len(sums))
            offset[:, 1] = -offset[:, 0]
        case "zero":
            offset = -sums
    return sums + np.where(draws.random((len(sums), 1)) < 0.7, offset, 0)


def outcome_of(
    plan: Plan, sums: RingArray, attendance: Attendance, bound: BOUND, seed: int, **budgeted: Any
) -> tuple[Outcome, list[Payer]]:
    scores = np.random.default_rng(seed).integers(0, VOTE + 1, (plan.queries, plan.classes))
    asked = scores if isinstance(plan.mechanism, Interactive) else None
    units = {key for cohort in attendance.cohorts for key in cohort.payers(plan.adjacency)}
    charged = payers(plan, attendance, {key: budget(*key, **budgeted) for key in units})
    return tally(plan, sums, asked, charged, attendance, ExactNoise(), bound), charged


def attended(plan: Plan, teachers: int, votes: int, draws: np.random.Generator) -> Attendance:
    """Cohorts of two parties; weighted, and on some queries alone, where the mechanism lets them be."""
    weights = draws.choice([VOTE, 24_247, 104_858, 1], 3)
    present = draws.random((3, plan.queries)) < draws.choice([0.5, 1.0])
    if isinstance(plan.mechanism, NoiseCluster):
        weights, present = np.full(3, VOTE), np.ones_like(present)
    named = [("a", "low"), ("a", "high"), ("b", "all")]
    cohorts = [cohort(*name, teachers, int(w), votes) for name, w in zip(named, weights, strict=True)]
    return Attendance(tuple(cohorts), present)


@pytest.mark.heavy
@settings(deadline=None, max_examples=400)
@given(
    mechanism=st.sampled_from(MECHANISMS),
    how=st.sampled_from(["honest", "random", "half", "steps", "moved", "zero"]),
    ring_bits=st.sampled_from([32, 64]),
    shape=st.tuples(st.integers(1, 4), st.integers(2, 4)),
    teachers=st.sampled_from([1, 2, 10, 40]),
    votes=st.integers(1, 3),
    bound=st.sampled_from(BOUNDS),
    enforce=st.sampled_from(ENFORCES),
    order=st.sampled_from([1.001, 1.5, 8.0, 64.0, 1024.0]),
    adjacency=st.sampled_from(["record", "label"]),
    seed=st.integers(0, 2**32 - 1),
)
@example(LnMax(gamma=90_000), "honest", 64, (2, 3), 10, 1, "exact", "data_dependent", 32.0, "record", 1)
def test_any_sum_is_answered_and_charged_within_its_reservation(
    mechanism: Mechanism,
    how: str,
    ring_bits: int,
    shape: tuple[int, int],
    teachers: int,
    votes: int,
    bound: BOUND,
    enforce: ENFORCE,
    order: float,
    adjacency: str,
    seed: int,
) -> None:
    """Neither an exception nor a warning: both would say something about votes (warnings are errors here)."""
    draws = np.random.default_rng(seed)
    plan = plan_of(mechanism, *shape, ring_bits, adjacency)
    attendance = attended(plan, teachers, votes, draws)
    check_ring(plan, 5 * teachers)
    sums = shifted(honest(plan, 3 * teachers, draws), how, 2 ** (ring_bits - 1), draws)
    outcome, charged = outcome_of(
        plan, Ring(ring_bits).wrap(sums), attendance, bound, seed, order=order, enforce=enforce
    )

    answers = guardian_pb2.ReleaseReply.FromString(outcome.answers).answers
    assert len(answers) == plan.queries
    assert outcome.answered == sum(answer.answered for answer in answers)
    asked = charged and enforce == "worst_case" and bound != "worst_case"
    assert (outcome.costs is not None) == bool(asked)
    assert [charge.unit for charge in outcome.charges] == [payer.budget.key for payer in charged]
    later = outcome.costs.charges() if outcome.costs else outcome.charges
    for payer, charge, final in zip(charged, outcome.charges, later, strict=True):
        most = reservation(plan, payer)
        assert 0 <= charge.worst_case <= most
        assert 0 <= charge.data_dependent <= most
        assert (final.unit, final.worst_case) == (charge.unit, charge.worst_case)
        assert 0 <= final.data_dependent <= most
        if enforce == "data_dependent":
            assert charge.data_dependent <= charge.at_most + 1
            assert charge.at_most <= most
        else:
            assert charge.data_dependent == charge.worst_case


def costs(attendance: Attendance, bound: BOUND = "exact", **budgeted: Any) -> dict[UnitKey, Charge]:
    """Return each unit's charge for four queries on which all voters agree, once that is computed."""
    plan = plan_of(GnMax(sigma=3), 4, 4, 64, "record")
    votes = np.zeros((4, 4), dtype=np.int64)
    votes[:, 1] = attendance.totals()
    outcome, _ = outcome_of(plan, Ring(64).wrap(votes), attendance, bound, 1, **budgeted)
    charges = outcome.costs.charges() if outcome.costs else outcome.charges
    return {charge.unit: charge for charge in charges if charge.unit.adjacency == "record"}


LOW, HIGH = UnitKey("a", "low", "record"), UnitKey("a", "high", "record")


@pytest.mark.parametrize("votes", [2, 5])
def test_a_unit_that_changes_more_votes_pays_for_their_square(votes: int) -> None:
    low, high = (cohort("a", "low"), cohort("a", "high", votes=votes))
    cost = costs(everybody([low, high], 4))
    assert 1 <= cost[HIGH].worst_case / (votes**2 * cost[LOW].worst_case) <= 1.6  # more where it is large
    assert cost[HIGH].data_dependent > cost[LOW].data_dependent


def test_a_weighted_vote_pays_for_the_square_of_its_weight() -> None:
    cost = costs(everybody([cohort("a", "low", weight=VOTE // 2), cohort("a", "high", weight=2 * VOTE)], 4))
    assert 1 <= cost[HIGH].worst_case / (16 * cost[LOW].worst_case) <= 1.6
    assert cost[HIGH].data_dependent > 10 * cost[LOW].data_dependent > 0


@pytest.mark.parametrize("bound", BOUNDS)
def test_only_queries_that_a_cohort_votes_on_are_charged_to_it(bound: BOUND) -> None:
    """A quarter of the queries at a quarter of the cost, votes being the same on all of them.

    Under `exact` what is charged depends on the label, which noise decides; what it can be does not.
    """
    low, high = cohort("a", "low", 0), cohort("a", "high")
    cost = costs(
        Attendance((low, high), np.array([[0, 1, 0, 0], [1, 1, 1, 1]], dtype=np.bool_)),
        bound,
        enforce="data_dependent",
    )
    for field in ("worst_case", "at_most", *(["data_dependent"] if bound != "exact" else [])):
        one, four = getattr(cost[LOW], field), getattr(cost[HIGH], field)
        assert four == pytest.approx(4 * one, abs=4)


def test_who_votes_on_nothing_pays_nothing() -> None:
    low, high = cohort("a", "low"), cohort("a", "high")
    assert list(costs(everybody([low, high], 4).without({low}))) == [HIGH]


@pytest.mark.parametrize(("bound", "asked"), [("worst_case", False), ("theorem6", True), ("exact", True)])
def test_what_votes_cost_is_left_to_later_and_only_where_the_policy_asks(bound: BOUND, asked: bool) -> None:
    plan = plan_of(GnMax(sigma=3), 3, 4, 64, "record")
    sums = Ring(64).wrap(honest(plan, 20, np.random.default_rng(1)))
    outcome, _ = outcome_of(plan, sums, everybody([cohort("a"), cohort("b")], 3), bound, 1)
    assert (outcome.costs is not None) == asked
    assert all(charge.data_dependent == charge.worst_case > 0 for charge in outcome.charges)


def test_nothing_private_is_printed() -> None:
    plan = plan_of(GnMax(sigma=3), 3, 4, 64, "record")
    sums = Ring(64).wrap(honest(plan, 20, np.random.default_rng(1)))
    outcome, _ = outcome_of(plan, sums, everybody([cohort("a"), cohort("b")], 3), "exact", 1)
    printed: Any = outcome
    assert repr(printed) == "Outcome()"
