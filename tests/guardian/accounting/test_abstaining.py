"""Labels with votes of their own number: no neighbour costs more than is charged, nobody's label nothing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.mechanism import L1, Binary, Check, Tau
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.bounds.multilabel_rdp import binary_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.noise import LATTICE
from tests.guardian.accounting import labels, oracle
from tests.guardian.accounting.labels import SOME

TEACHERS, LABELS = 24, 6
CHECK = Check(sigma=4.0, threshold=15.0)
MECHANISMS = [Binary(sigma=3.0), Tau(sigma=2.0, tau=1.4), L1(sigma=2.0, tau1=1.6)]
BOUNDS: list[Bound] = ["exact", "theorem6", "worst_case"]
PerLabel = Binary | Tau | L1
seeds = st.integers(0, 2**32)


def votes_of(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Scores (teachers, labels) of teachers that abstain from some labels, and where they vote.

    Nobody votes on label 0, everybody on the last.
    """
    voting = np.repeat(rng.random((4, LABELS)) < 0.6, TEACHERS // 4, axis=0)
    voting[:, 0], voting[:, -1] = False, True
    likely = rng.choice([0.05, 0.5, 0.95], size=LABELS)
    return (rng.random((TEACHERS, LABELS)) < likely) & voting, voting


def tally_of(mechanism: PerLabel, scores: np.ndarray, voting: np.ndarray) -> Tally:
    total = voting.sum(axis=0, dtype=np.float64)[None]
    counted = mechanism.ballot.count(scores[:, None].astype(np.float32), LABELS)
    return Tally(mechanism, LABELS, total, TEACHERS, counted, total > 0)


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.kind)
@given(seeds, st.sampled_from([1.5, 4.0, 16.0, 64.0]))
@settings(deadline=None, max_examples=15)
def test_no_replaced_ballot_of_whoever_abstains_exceeds_the_charge(
    mechanism: PerLabel, seed: int, order: float
) -> None:
    rng = np.random.default_rng(seed)
    scores, voting = votes_of(rng)
    here = tally_of(mechanism, scores, voting)
    answered, total = here.answered[0], here.total[0]
    for teacher in range(0, TEACHERS, TEACHERS // 4):
        own = here.without(np.flatnonzero(~voting[teacher]).tolist())
        allowed = charge(own, order, "exact", lattice=LATTICE)
        for other in (rng.random((12, LABELS)) < rng.choice([0.2, 0.5, 1.0])) & voting[teacher]:
            there = scores.copy()
            there[teacher] = other
            after = tally_of(mechanism, there, voting).votes[0]
            moved = here.votes[0, answered], after[answered], total[answered]
            cost = labels.joint(mechanism.sigma, *moved, order)
            assert cost <= allowed * (1 + 1e-9) + 1e-13
            assert not after[~answered].any()


def test_exact_equals_many_digit_arithmetic_where_labels_have_votes_of_their_own_number() -> None:
    positives, n = [0, 3, 20, 30, 1], [4, 10, 40, 30, 1]
    rdp = binary_rdp([positives], [n], 6.0, SOME)[0]
    worst = binary_rdp([positives], [n], 6.0, SOME, bound="worst_case")[0]
    each = [(p, total, True) for p, total in zip(positives, n, strict=True)]
    exact = [labels.flipped(labels.vote(6.0), each, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(exact, worst))


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.kind)
def test_a_label_on_which_nobody_votes_costs_nothing(mechanism: PerLabel, bound: Bound) -> None:
    """But for the lattice's part in the worst case of clipped ballots, which is added for every label."""
    scores, voting = votes_of(np.random.default_rng(5))
    voting[:, 1:] = True
    whole = tally_of(mechanism, scores & voting, voting)
    without = Tally(
        mechanism, LABELS - 1, whole.total[:, 1:], TEACHERS, whole.votes[:, 1:], whole.answered[:, 1:]
    )
    for order in (2.0, 32.0):
        cost = charge(whole, order, bound, lattice=LATTICE)
        assert cost == pytest.approx(charge(without, order, bound, lattice=LATTICE), rel=1e-6)


@pytest.mark.heavy
@pytest.mark.parametrize("check", [None, CHECK])
@pytest.mark.parametrize("bound", BOUNDS)
@given(seed=seeds)
@settings(deadline=None, max_examples=10)
def test_abstaining_never_costs_more_than_the_worst_case_of_all_labels(
    check: Check | None, bound: Bound, seed: int
) -> None:
    scores, voting = votes_of(np.random.default_rng(seed))
    for mechanism in (Binary(sigma=3.0, check=check), Tau(sigma=2.0, tau=1.4, check=check)):
        own = tally_of(mechanism, scores, voting)
        everything = Tally(
            mechanism, LABELS, np.full(1, float(TEACHERS)), TEACHERS, own.votes, np.ones_like(own.answered)
        )
        for order in (2.0, 32.0):
            worst = charge(everything, order, "worst_case", lattice=LATTICE)
            assert charge(own, order, bound, lattice=LATTICE) <= worst * (1 + 1e-12)


@pytest.mark.heavy
@pytest.mark.parametrize("check", [None, CHECK])
@pytest.mark.parametrize("bound", BOUNDS)
@given(seed=seeds)
@settings(deadline=None, max_examples=10)
def test_a_label_more_to_vote_on_never_costs_less(check: Check | None, bound: Bound, seed: int) -> None:
    scores, voting = votes_of(np.random.default_rng(seed))
    for mechanism in (Binary(sigma=3.0, check=check), Tau(sigma=2.0, tau=1.8, check=check)):
        whole = tally_of(mechanism, scores, voting)
        for order in (2.0, 32.0):
            costs = [
                charge(whole.without(range(label)), order, bound, lattice=LATTICE) for label in range(LABELS)
            ]
            assert all(more >= less * (1 - 1e-9) - 1e-13 for more, less in pairwise(costs))


def test_more_votes_for_a_label_than_it_has_are_charged_the_worst_case() -> None:
    def cost(positives: float, bound: Bound) -> float:
        votes, total = np.array([[24.0, positives]]), np.array([[24.0, 6.0]])
        own = Tally(Binary(sigma=3.0), 2, total, TEACHERS, votes, np.ones((1, 2), dtype=np.bool_))
        return charge(own, 8.0, bound, lattice=LATTICE)

    assert cost(6.0, "exact") < cost(7.0, "exact") == cost(7.0, "worst_case")
