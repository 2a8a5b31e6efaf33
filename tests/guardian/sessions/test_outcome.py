"""What a batch releases and costs: whatever sums arrive, nothing is refused, and no charge is unreserved."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from common.mechanism import (
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
from common.plan import ENFORCE, Plan
from common.plan_limits import check_ring
from common.sharing.ring import Ring, RingArray
from guardian.ledger import Budget, UnitKey
from guardian.noise import OpenDpNoise
from guardian.sessions.outcome import Outcome, evaluations, tally, worst_cost
from protos.ostraka.v1 import common_pb2, guardian_pb2

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
    Confident(sigma1=0.0001, sigma2=500, threshold=32_767),
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
    """Sums in lattice steps that ballots of `voters` make."""
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
    """What a querying party makes of them."""
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
    plan: Plan, sums: RingArray, budgets: list[Budget], teachers: int, votes: int, bound: BOUND, seed: int
) -> Outcome:
    scores = np.random.default_rng(seed).integers(0, VOTE + 1, (plan.queries, plan.classes))
    frozen = {
        site: common_pb2.Participant(
            site=site, teachers=teachers, records=teachers, max_votes_per_person=votes
        )
        for site in SITES
    }
    asked = scores if isinstance(plan.mechanism, Interactive) else None
    return tally(plan, sums, asked, budgets, frozen, OpenDpNoise(), bound)


def budgets_of(order: float, enforce: ENFORCE) -> list[Budget]:
    keys = [UnitKey(site, "g", adjacency) for site, adjacency in product(SITES, ("label", "record"))]
    return [Budget(key, 1.0, 1e-5, order, enforce, 10**12, 0, 0) for key in keys]


@settings(deadline=None, max_examples=400)
@given(
    mechanism=st.sampled_from(MECHANISMS),
    how=st.sampled_from(["honest", "random", "half", "steps", "moved", "zero"]),
    ring_bits=st.sampled_from([32, 64]),
    shape=st.tuples(st.integers(1, 4), st.integers(2, 4)),
    teachers=st.sampled_from([1, 2, 10, 60]),
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
    check_ring(plan, 2 * teachers)
    sums = shifted(honest(plan, 2 * teachers, draws), how, 2 ** (ring_bits - 1), draws)
    budgets = budgets_of(order, enforce)
    outcome = outcome_of(plan, Ring(ring_bits).wrap(sums), budgets, teachers, votes, bound, seed)

    answers = guardian_pb2.ReleaseReply.FromString(outcome.answers).answers
    assert len(answers) == plan.queries
    assert outcome.answered == sum(answer.answered for answer in answers)
    most = worst_cost(plan, budgets[0], votes).reservation(plan.queries, mechanism.answers(plan.classes))
    assert [charge.unit for charge in outcome.charges] == [budget.key for budget in budgets]
    for charge in outcome.charges:
        assert 0 <= charge.worst_case <= most
        assert 0 <= charge.data_dependent <= most
        if enforce == "data_dependent":
            assert charge.data_dependent <= charge.at_most + 1
            assert charge.at_most <= most


@pytest.mark.parametrize("votes", [1, 2, 5])
@pytest.mark.parametrize("mechanism", MECHANISMS[:1] + MECHANISMS[-2:-1], ids=lambda m: m.kind)
def test_a_unit_that_changes_more_votes_pays_for_their_square(mechanism: Mechanism, votes: int) -> None:
    plan = plan_of(mechanism, 3, 4, 64, "record")
    sums = Ring(64).wrap(honest(plan, 20, np.random.default_rng(1)))
    outcomes = [
        outcome_of(plan, sums, budgets_of(8.0, "worst_case"), 10, each, "exact", 1) for each in (1, votes)
    ]
    one, many = (outcome.charges[0].worst_case for outcome in outcomes)
    assert many == pytest.approx(votes**2 * one, rel=1e-9)


def test_units_alike_share_their_accounting() -> None:
    frozen = {
        site: common_pb2.Participant(site=site, max_votes_per_person=votes)
        for site, votes in (("a", 1), ("b", 2))
    }
    for enforce, times in (("worst_case", 1), ("data_dependent", 3)):
        assert evaluations(budgets_of(8.0, enforce), frozen) == 2 * times  # type: ignore[arg-type]


def test_nothing_private_is_printed() -> None:
    plan = plan_of(GnMax(sigma=3), 3, 4, 64, "record")
    sums = Ring(64).wrap(honest(plan, 20, np.random.default_rng(1)))
    outcome: Any = outcome_of(plan, sums, budgets_of(8.0, "worst_case"), 10, 1, "exact", 1)
    assert repr(outcome) == "Outcome()"
