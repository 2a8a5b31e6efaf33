"""Totals that are kept of votes for labels and label sets, and under Laplace noise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import L1, Binary, Check, LnMax, Mechanism, PerLabel, Powerset, Tau
from ostraka.common.privacy import AMOUNT_UNIT, Influence
from ostraka.guardian.accounting.smooth_noise import VoteTotal
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.charge import charge, vote_total
from ostraka.guardian.noise import LATTICE
from tests.guardian.mechanisms.test_vote_totals import KIND, assert_neighbours

Votes = NDArray[np.float64]

ORDER = 3.0
TEACHERS = 8
CHECK = Check(sigma=1.6, threshold=4.5)
SETS = np.array(list(itertools.product((0, 1), repeat=2)))
"""Ballots of two labels, in the order of Powerset's counts."""
EVERY = np.array([of for of in itertools.product(range(TEACHERS + 1), repeat=4) if sum(of) == TEACHERS])
"""How many teachers may have cast each of these ballots."""
NEAR = np.abs(EVERY[:, None] - EVERY[None]).sum(axis=2) == 2
"""Where one teacher casts another ballot."""


def tally(votes: Votes, mechanism: Mechanism, teachers: float = TEACHERS, passed: bool = True) -> Tally:
    classes = round(math.log2(votes.shape[1])) if isinstance(mechanism, Powerset) else votes.shape[1]
    return Tally(
        mechanism=mechanism,
        classes=classes,
        total=np.full(len(votes), float(teachers)),
        voters=math.ceil(teachers),
        votes=votes,
        answered=np.full((len(votes), 1 if isinstance(mechanism, LnMax) else classes), passed),
    )


def keep(released: Tally, order: float = ORDER, moved: float = 1.0) -> VoteTotal:
    return vote_total(released, order, moved, moved, KIND)


def worst_total(released: Tally, order: float = ORDER) -> VoteTotal:
    worst = released.mechanism.worst_case(order, 1.0, classes=released.classes)
    return VoteTotal.of_worst_case(order, worst.amount(released.answered))


def sums_of(mechanism: Mechanism, cast: NDArray[np.int64]) -> Votes:
    """Return the sums (Q, width) of ballots of which `cast` (Q, 4) are those of each of the `SETS`."""
    if not isinstance(mechanism, PerLabel):
        return cast.astype(np.float64)
    each = np.concatenate([mechanism.ballot.count(one[None, None], 2) for one in SETS])
    sums: Votes = cast @ each
    return sums


FEW = [
    (Binary(sigma=2.0), True),
    (Binary(sigma=2.0, check=CHECK), False),
    (Tau(sigma=2.0, tau=1.2), True),
    (Tau(sigma=1.5, tau=0.7, check=CHECK), True),
    (L1(sigma=2.0, tau1=1.0), True),
    (Powerset(sigma=2.0), True),
    (Powerset(sigma=2.0, check=CHECK), False),
    (LnMax(gamma=0.8), True),
]


def assert_changes(votes: Votes, mechanism: Mechanism, passed: bool) -> None:
    sums, which = np.unique(votes, axis=0, return_inverse=True)
    totals = [keep(tally(row[None], mechanism, passed=passed), 2.5) for row in sums]
    spent = np.array([total.spent for total in totals], dtype=np.float64)[which]
    changes = np.array([total.changes[: TEACHERS + 2] for total in totals], dtype=np.float64)[which]
    assert spent.max() > spent.min()
    largest = np.where(NEAR, np.abs(spent[:, None] - spent[None]), 0.0).max(axis=1)
    for nearer, farther in itertools.pairwise(changes.T):
        assert (nearer >= largest).all()
        assert (np.where(NEAR, nearer[:, None], 0.0).max(axis=0) <= farther).all()
        largest = np.maximum(largest, np.where(NEAR, largest[None], 0.0).max(axis=1))


@pytest.mark.heavy
@pytest.mark.parametrize(("mechanism", "passed"), FEW)
def test_changes_hold_within_every_distance_of_all_ballots_of_few_teachers(
    mechanism: Mechanism, passed: bool
) -> None:
    """By brute force: a neighbour changes a whole ballot, and so every label at once."""
    votes = sums_of(mechanism, EVERY)
    assert_changes(votes, mechanism, passed)
    votes[:, 0] += 2.5
    votes[:, 1] -= 2.5
    assert_changes(votes, mechanism, passed)


@given(
    seed=st.integers(0, 2**32),
    labels=st.integers(1, 7),
    teachers=st.integers(3, 120),
    queries=st.integers(1, 20),
    order=st.floats(1.1, 60),
    sigma=st.floats(2, 60),
    kind=st.sampled_from(["binary", "tau", "l1", "powerset", "lnmax"]),
    checked=st.none() | st.floats(0.3, 1),
    weight=st.sampled_from([0.5, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=60)
@pytest.mark.heavy
def test_totals_of_neighbours_differ_by_their_smooth_sensitivity_at_most(
    seed: int,
    labels: int,
    teachers: int,
    queries: int,
    order: float,
    sigma: float,
    kind: str,
    checked: float | None,
    weight: float,
) -> None:
    """A teacher of some weight casts another ballot in every query; some sums are shifted."""
    random = np.random.default_rng(seed)
    sigma *= weight
    total = teachers * weight
    check = None if checked is None else Check(sigma=1.5 * sigma, threshold=checked * total)
    mechanism: Mechanism
    match kind:
        case "binary":
            mechanism = Binary(sigma=sigma, check=check)
        case "tau":
            mechanism = Tau(sigma=sigma, tau=random.uniform(0.2, 1) * math.sqrt(labels), check=check)
        case "l1":
            mechanism = L1(sigma=sigma, tau1=random.uniform(0.2, 1) * labels, check=check)
        case "powerset":
            mechanism = Powerset(sigma=sigma, check=check)
        case _:
            mechanism = LnMax(gamma=1 / min(sigma, 40.0))
    cast = random.random((teachers + 1, queries, labels)) < random.beta(0.3, 0.3, (queries, labels))
    if isinstance(mechanism, PerLabel):
        ballots = np.stack([mechanism.ballot.count(one[None], labels) for one in cast])
        shift = random.choice([0.0, 0.0, 7.0, -total], (queries, labels))
    else:
        chosen = cast @ (1 << np.arange(labels))
        ballots = np.eye(1 << labels)[chosen]
        by = random.choice([0.0, 0.0, 7.0, -total], queries)
        shift = np.zeros(ballots.shape[1:])
        shift[:, 0] += by
        shift[:, -1] -= by
    others = ballots[2:].sum(axis=0)
    passed = bool(random.integers(2)) or check is None
    one, other = (
        keep(tally(shift + weight * (others + mine), mechanism, total, passed), order, weight)
        for mine in ballots[:2]
    )
    assert one.changes[-1] > 0
    assert_neighbours(one, other)


@pytest.mark.parametrize("mechanism", [Binary(sigma=2.0), Powerset(sigma=2.0), LnMax(gamma=0.8)])
def test_a_total_is_what_theorem6_charges(mechanism: Mechanism) -> None:
    released = tally(sums_of(mechanism, EVERY[[0, 40, 164, 60]]), mechanism)
    charged = charge(released, ORDER, "theorem6", Influence(), lattice=LATTICE)
    assert charged < worst_total(released).spent * AMOUNT_UNIT * 0.99
    assert keep(released).spent * AMOUNT_UNIT == pytest.approx(charged, rel=1e-7)


def test_a_check_costs_no_more_than_it_may_at_worst_by_itself() -> None:
    mechanism = Powerset(sigma=2.0, check=CHECK)
    released = tally(EVERY[[0, 40, 164, 60]].astype(np.float64), mechanism, passed=False)
    charged = charge(released, ORDER, "theorem6", Influence(), lattice=LATTICE)
    assert 0 < keep(released).spent * AMOUNT_UNIT <= charged


@pytest.mark.parametrize(("mechanism", "passed"), FEW)
def test_sums_far_outside_cost_the_worst_case(mechanism: Mechanism, passed: bool) -> None:
    votes = sums_of(mechanism, EVERY[:1])
    for by in (5 * TEACHERS, 2**40):
        shifted = votes.copy()
        shifted[:, 0] += by
        shifted[:, 1] -= by
        released = tally(shifted, mechanism, passed=passed)
        worst = worst_total(released).spent
        assert keep(released).spent >= worst * (1 - 1e-6)


def test_labels_all_change_at_once_and_add_up() -> None:
    votes = np.array([[4.0, 2.0, 6.0]])
    whole = keep(tally(votes, Binary(sigma=2.5)))
    each = [keep(tally(votes[:, [label]], Binary(sigma=2.5))) for label in range(3)]
    assert whole.spent == sum(total.spent for total in each)
    assert list(whole.changes) == np.sum([total.changes for total in each], axis=0).tolist()


def test_clipped_ballots_move_a_label_by_no_more_than_their_largest_entry() -> None:
    votes = np.array([[2.0, 1.0, 1.0]])
    half, whole = (keep(tally(votes, Tau(sigma=2.5, tau=tau))) for tau in (0.5, 1.0))
    assert half.changes[0] < whole.changes[0]


NO_PROOF = [
    Binary(sigma=1000.0),
    Powerset(sigma=1000.0),
    LnMax(gamma=0.001),
]


@pytest.mark.parametrize("mechanism", NO_PROOF)
def test_what_could_wrap_around_when_shifted_counts_at_worst(mechanism: Mechanism) -> None:
    """Noise that has room for the votes in the narrowest ring, and none for twice as many."""
    teachers = 11_000.0
    votes = sums_of(mechanism, EVERY[:1]) * teachers / TEACHERS
    released = tally(votes, mechanism, teachers)
    assert keep(released) == worst_total(released)
    few = tally(sums_of(mechanism, EVERY[:1]), mechanism)
    assert (keep(few) != worst_total(few)) == isinstance(mechanism, Binary | Powerset)


def test_a_threshold_above_all_votes_costs_the_worst_case() -> None:
    """Sums shifted beyond it lie near it where honest ones lie far below."""
    check = Check(sigma=2.5, threshold=3 * TEACHERS)
    each = tally(np.array([[TEACHERS, 0.0]]), Binary(sigma=2.5, check=check), passed=False)
    assert keep(each).spent >= worst_total(each).spent * (1 - 1e-6)
    sets = tally(np.array([[0.0, 0, 0, TEACHERS]]), Powerset(sigma=2.5, check=check), passed=False)
    assert keep(sets) == worst_total(sets)
