"""Totals that are kept of votes: their changes hold at every sum, honest or not; their bytes say nothing."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.mechanism import Confident, GnMax, Mechanism, Threshold
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp
from ostraka.guardian.accounting.bounds.smooth_sensitivity import discount
from ostraka.guardian.accounting.bounds.vote_terms import Term
from ostraka.guardian.accounting.smooth_noise import DISTANCES, SmoothNoise, VoteTotal, kind_of
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.charge import vote_total
from ostraka.guardian.noise import LATTICE

TEACHERS = 10
KIND = b"k" * 16
CHECKED = Confident(sigma1=3.0, sigma2=2.5, threshold=6.5)
NARROW = Confident(sigma1=1.6, sigma2=2.5, threshold=6.5)
PLAIN = GnMax(sigma=2.5)
SHIFTED = range(-3, TEACHERS + 4)
SUMS = np.array([v for v in itertools.product(SHIFTED, repeat=3) if sum(v) == TEACHERS], dtype=np.float64)
"""Sums that one offset or another makes of ten votes on three classes, honest ones among them."""
APART = np.abs(SUMS[:, None] - SUMS[None]).sum(axis=2) / 2


def tally(votes: np.ndarray, mechanism: Mechanism, passed: bool = True, total: float = TEACHERS) -> Tally:
    return Tally(
        mechanism=mechanism,
        classes=votes.shape[1],
        total=np.full(len(votes), float(total)),
        voters=TEACHERS,
        votes=votes,
        answered=np.full((len(votes), 1), passed),
    )


def kept(votes: np.ndarray, mechanism: Mechanism, order: float = 3.0, passed: bool = True) -> VoteTotal:
    return vote_total(tally(votes, mechanism, passed), order, 1.0, 1.0, KIND)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mechanism", "passed", "order"), [(PLAIN, True, 1.5), (PLAIN, True, 3.0), (NARROW, False, 2.0)]
)
def test_changes_hold_at_every_sum_within_every_distance(
    mechanism: Mechanism, passed: bool, order: float
) -> None:
    totals = [kept(row[None], mechanism, order, passed) for row in SUMS]
    spent = np.array([total.spent for total in totals], dtype=np.float64)
    assert spent.min() < spent.max() / 1.5
    local = np.where(APART == 1, np.abs(spent[:, None] - spent[None]), 0.0).max(axis=1)
    for distance in range(2 * TEACHERS):
        largest = np.where(distance >= APART, local[None], 0.0).max(axis=1)
        changes = np.array([total.changes[distance] for total in totals], dtype=np.float64)
        assert (changes >= largest).all()
        farther = np.array([total.changes[distance + 1] for total in totals], dtype=np.float64)
        assert (np.where(APART == 1, changes[:, None], 0.0).max(axis=0) <= farther + 1).all()


def test_smooth_sensitivity_changes_by_its_factor_and_no_more() -> None:
    beta = 0.1
    smooth = np.array([discount(kept(row[None], PLAIN).changes, beta) for row in SUMS[::5]])
    ratio = np.log(smooth[:, None] / smooth[None])
    assert (ratio <= beta * APART[::5, ::5] + 1e-9).all()


STEEP = [(30, 4, 8.0, 8.298), (30, 10, 8.0, 7.231), (100, 10, 20.0, 24.847)]
"""Teachers, classes, order and noise where costs are steepest within a vote of unanimity."""


def assert_neighbours(one: VoteTotal, other: VoteTotal) -> None:
    """One record changes the total by at most the smooth sensitivity of either, and that by its factor."""
    beta = SmoothNoise.by_order(one.order).beta
    smooth = [discount(total.changes, beta) for total in (one, other)]
    assert abs(one.spent - other.spent) <= min(smooth)
    assert abs(np.log(smooth[0] / smooth[1])) <= beta * (1 + 1e-9)


@pytest.mark.parametrize(("teachers", "classes", "order", "sigma"), STEEP)
def test_one_vote_near_unanimity_changes_the_noise_by_its_factor_and_no_more(
    teachers: int, classes: int, order: float, sigma: float
) -> None:
    for against in range(4):
        row, other = np.zeros((2, 200, classes))
        row[:, :2] = teachers - against, against
        other[:, :2] = teachers - against - 1, against + 1
        one, next_ = (
            vote_total(tally(votes, GnMax(sigma=sigma), total=teachers), order, 1.0, 1.0, KIND)
            for votes in (row, other)
        )
        assert one.changes[-1] > 0
        assert_neighbours(one, next_)


@given(
    seed=st.integers(0, 2**32),
    classes=st.integers(2, 12),
    teachers=st.integers(3, 120),
    queries=st.integers(1, 30),
    order=st.floats(1.1, 60),
    sigma=st.floats(2, 60),
    threshold=st.none() | st.floats(0.01, 1),
    moved=st.sampled_from([0.5, 1.0, 3.0]),
)
@settings(deadline=None, max_examples=40)
def test_totals_of_neighbours_differ_by_their_smooth_sensitivity_at_most(
    seed: int,
    classes: int,
    teachers: int,
    queries: int,
    order: float,
    sigma: float,
    threshold: float | None,
    moved: float,
) -> None:
    """One person moves its vote in every query, from one class to another; some sums are shifted."""
    random = np.random.default_rng(seed)
    votes = random.multinomial(teachers, random.dirichlet(np.full(classes, 0.3), queries)).astype(np.float64)
    votes[:, 0] += (by := random.choice([0, 0, 7, -teachers], queries))
    votes[:, 1] -= by
    other, rows = votes.copy(), np.arange(queries)
    other[rows, random.integers(classes, size=queries)] -= moved
    other[rows, random.integers(classes, size=queries)] += moved
    mechanism: Mechanism = GnMax(sigma=sigma)
    if threshold is not None:
        mechanism = Confident(sigma1=1.5 * sigma, sigma2=sigma, threshold=threshold * teachers)
    one, next_ = (
        vote_total(tally(each, mechanism, total=teachers), order, moved, moved, KIND)
        for each in (votes, other)
    )
    assert one.changes[-1] > 0
    assert_neighbours(one, next_)


@pytest.mark.parametrize(
    ("mechanism", "total"), [(PLAIN, 20_000), (GnMax(sigma=1e7), TEACHERS), (CHECKED, 10_000)]
)
def test_what_gets_no_certificate_counts_at_worst(mechanism: Mechanism, total: float) -> None:
    """More votes than a grid is worked on for, or noise so wide that a vote is lost in rounding."""
    rows = SUMS[:4].copy()
    rows[:, 0] += total - TEACHERS
    found = vote_total(tally(rows, mechanism, total=total), 3.0, 1.0, 1.0, KIND)
    worst = mechanism.worst_case(3.0, 1.0, classes=3)
    assert found == VoteTotal.of_worst_case(3.0, worst.amount(np.ones((4, 1), dtype=bool)))


def test_changes_that_are_not_smooth_are_never_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(kept(SUMS[:4], PLAIN).changes)
    monkeypatch.setattr(Term, "windows", lambda term: itertools.repeat(term._nearest))
    worst = PLAIN.worst_case(3.0, 1.0, classes=3)
    assert kept(SUMS[:4], PLAIN) == VoteTotal.of_worst_case(3.0, worst.amount(np.ones((4, 1), dtype=bool)))


def test_queries_and_batches_add_up() -> None:
    rows = SUMS[[3, 50, 90, 130]]
    whole, first, rest = kept(rows, CHECKED), kept(rows[:1], CHECKED), kept(rows[1:], CHECKED)
    assert first.spent + rest.spent == whole.spent
    assert np.add(first.changes, rest.changes).tolist() == list(whole.changes)


@pytest.mark.parametrize("passed", [True, False])
def test_a_total_is_theorem6_of_its_votes_where_that_is_below_the_worst_case(passed: bool) -> None:
    votes, order = np.array([[10.0, 0, 0], [6, 4, 0], [4, 3, 3]]), 3.0
    argmax = gnmax_rdp(votes, PLAIN.sigma, [order], bound="theorem6", lattice=LATTICE)[:, 0]
    worst = PLAIN.worst_case(order, 1.0, classes=3).answer
    assert kept(votes, PLAIN).spent * AMOUNT_UNIT == pytest.approx(np.minimum(argmax, worst).sum(), rel=1e-9)
    checked = kept(votes, CHECKED, passed=passed).spent * AMOUNT_UNIT
    parameters = CHECKED.threshold, CHECKED.sigma1, CHECKED.sigma2
    answered = np.full(len(votes), passed)
    theorem6 = confident_rdp(votes, *parameters, [order], answered, bound="theorem6", lattice=LATTICE)
    at_worst = CHECKED.worst_case(order, 1.0, classes=3).rdp(answered[:, None])
    assert checked <= min(theorem6.sum(), at_worst) * (1 + 1e-9)


@pytest.mark.parametrize("mechanism", [PLAIN, CHECKED])
@given(offset=st.lists(st.integers(-(2**46), 2**46), min_size=3, max_size=3))
@settings(deadline=None, max_examples=25)
def test_sums_that_no_ballots_make_cost_the_worst_case(mechanism: Mechanism, offset: list[int]) -> None:
    votes = np.array([[10.0, 0, 0]]) + offset
    total = kept(votes, mechanism)
    worst = mechanism.worst_case(3.0, 1.0, classes=3).rdp(np.ones((1, 1), dtype=bool))
    assert total.spent * AMOUNT_UNIT <= worst * (1 + 1e-9)
    if sum(offset) or max(map(abs, offset)) > 2 * TEACHERS:
        assert total.spent * AMOUNT_UNIT == pytest.approx(worst, rel=1e-9)


def test_sums_far_outside_cost_the_worst_case_although_they_add_up() -> None:
    worst = PLAIN.worst_case(3.0, 1.0, classes=3).answer
    honest, shifted = (
        kept(np.array([row]), PLAIN).spent * AMOUNT_UNIT for row in ([10.0, 0, 0], [60.0, -50.0, 0])
    )
    assert honest < worst / 2
    assert shifted == pytest.approx(worst, rel=1e-9)


def test_a_mechanism_without_a_proof_costs_its_worst_case_and_changes_nothing() -> None:
    mechanism = Threshold(sigma=3.0, share=0.5)
    votes = np.array([[7.0, 3], [10, 0], [0, 10], [5, 5]])
    total = kept(votes, mechanism)
    worst = mechanism.worst_case(3.0, 1.0, classes=2)
    assert total == VoteTotal.of_worst_case(3.0, worst.amount(np.ones((4, 1), dtype=bool)))


def test_noise_too_narrow_for_a_proof_may_change_by_the_worst_case_anywhere() -> None:
    narrow = kept(np.array([[10.0, 0, 0]]), GnMax(sigma=1.5))
    worst = GnMax(sigma=1.5).worst_case(3.0, 1.0, classes=3).answer
    assert min(narrow.changes) * AMOUNT_UNIT == pytest.approx(worst, rel=1e-5)


def test_whoever_moves_more_votes_is_counted_on() -> None:
    one, three = (vote_total(tally(SUMS[:9], PLAIN), 3.0, 1.0, moved, KIND) for moved in (1.0, 3.0))
    assert one.spent == three.spent
    assert (np.array(three.changes) >= one.changes).all()
    assert three.changes[0] > one.changes[0]


def test_bytes_are_of_one_length_and_read_back() -> None:
    totals = [kept(SUMS[:1], PLAIN), kept(SUMS[:60], CHECKED), VoteTotal.of_worst_case(3.0, 2**60)]
    assert len({len(total.to_bytes()) for total in totals}) == 1
    assert [VoteTotal.from_bytes(total.to_bytes()) for total in totals] == totals
    assert len(totals[0].changes) == DISTANCES
    for other in (b"1234", b"\x01" + totals[0].to_bytes()[1:]):
        with pytest.raises(ValueError, match="bytes"):
            VoteTotal.from_bytes(other)


def test_totals_from_before_the_certificate_say_nothing() -> None:
    """They had all but the first byte; their changes need not be smooth."""
    total = kept(SUMS[:1], PLAIN)
    assert any(total.kind)
    assert VoteTotal.from_bytes(total.to_bytes()[1:]) == VoteTotal.of_worst_case(3.0, total.spent)


def test_kinds_tell_apart_what_totals_depend_on() -> None:
    everyone, some = np.ones(4, dtype=bool), np.array([True, True, False, True])
    kinds = [
        kind_of(3.0, 1.0, 1.0, everyone, ()),
        kind_of(4.0, 1.0, 1.0, everyone, ()),
        kind_of(3.0, 2.0, 2.0, everyone, ()),
        kind_of(3.0, 1.0, 2.0, everyone, ()),
        kind_of(3.0, 1.0, 1.0, some, ()),
        kind_of(3.0, 1.0, 1.0, everyone, (1,)),
    ]
    assert len(set(kinds)) == len(kinds)
    assert all(any(kind) and len(kind) == 16 for kind in kinds)
