"""The certificate that changes are smooth: what it proves, against many digits, and what it refuses."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.ndimage import maximum_filter1d

from ostraka.common.mechanism import GnMax, LnMax
from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.guardian.accounting.bounds.smooth_sensitivity import discount, is_certified
from ostraka.guardian.accounting.bounds.vote_terms import (
    CELLS,
    Moves,
    Term,
    Whole,
    argmax_term,
    check_term,
    laplace_term,
)
from ostraka.guardian.accounting.numerics.intervals import Interval
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from tests.guardian.accounting import oracle
from tests.privacy.faults import by_whole_steps, falls_beyond_the_grid

DISTANCES = 128
LATTICE = 2.0**-16
STEEP = [(30, 4, 8.0, 8.298), (30, 10, 8.0, 7.231), (100, 10, 20.0, 24.847)]
"""Teachers, classes, order and noise where costs are steepest within a vote of unanimity."""


def argmax(teachers: int, classes: int, order: float, sigma: float, moved: float = 1.0) -> Term:
    votes = np.zeros((1, classes))
    votes[0, 0] = teachers
    worst = GnMax(sigma=sigma).worst_case(order, moved, classes=classes).answer
    return argmax_term(votes, sigma, Moves(order, moved, moved, float(teachers), LATTICE), worst)


def check(teachers: int, threshold: float, order: float, sigma: float) -> Term:
    votes = np.array([[float(teachers), 0.0]])
    return check_term(votes, threshold, sigma, Moves(order, 1.0, 1.0, float(teachers), LATTICE))


def laplace(teachers: int, classes: int, order: float, gamma: float) -> Term:
    votes = np.zeros((1, classes))
    votes[0, 0] = teachers
    worst = LnMax(gamma=gamma).worst_case(order, 1.0, classes=classes).answer
    return laplace_term(votes, gamma, Moves(order, 1.0, 1.0, float(teachers), LATTICE), worst)


def steepest(term: Term) -> float:
    """Return where on the grid that is largest, from 0 to 1."""
    falls = falls_beyond_the_grid(term)
    return float(falls.argmax() / len(falls))


def smooth_ratio(term: Term, order: float) -> float:
    """Return by how many beta smooth sensitivities of neighbouring cells differ at most, over the grid."""
    beta = SmoothNoise.by_order(order).beta
    each = [*islice(term.windows(), DISTANCES - 1)]
    each.append(np.full_like(each[0], term.limit()))
    smooth = np.array([discount(cell, beta) for cell in np.array(each).T.tolist()])
    lowest = -maximum_filter1d(-smooth, 2 * CELLS + 1, mode="nearest")
    return float(np.log(smooth / lowest).max() / beta)


# Where it holds.


@pytest.mark.parametrize(("teachers", "classes", "order", "sigma"), STEEP)
def test_it_holds_where_costs_are_steepest_at_unanimity(
    teachers: int, classes: int, order: float, sigma: float
) -> None:
    term = argmax(teachers, classes, order, sigma)
    assert is_certified(term, DISTANCES)
    assert steepest(term) > 1 - (CELLS + 2) / len(term.costs[0])
    assert 0.9 < smooth_ratio(term, order) <= 1 + 1e-9


@pytest.mark.parametrize("sigma", np.geomspace(2, 30, 12).tolist())
@pytest.mark.parametrize(("teachers", "classes", "order"), [(30, 4, 8.0), (12, 2, 1.5), (3, 2, 3.0)])
def test_it_holds_for_whatever_noise_a_querying_party_chooses(
    teachers: int, classes: int, order: float, sigma: float
) -> None:
    for term in (argmax(teachers, classes, order, sigma), check(teachers, 0.7 * teachers, order, sigma)):
        assert is_certified(term, DISTANCES)
        assert smooth_ratio(term, order) <= 1 + 1e-9


def test_the_sweep_has_costs_that_are_steepest_at_either_end() -> None:
    places = [steepest(check(30, at, 8.0, sigma)) for at in (15.0, 25.0) for sigma in (2.0, 8.0, 30.0)]
    places += [steepest(argmax(*rest)) for rest in STEEP]
    assert min(places) == 0.0 or min(places) < 0.1
    assert max(places) > 0.9


terms = st.builds(
    argmax,
    st.integers(2, 60),
    st.integers(2, 30),
    st.floats(1.05, 64),
    st.floats(2, 60),
) | st.builds(check, st.integers(2, 60), st.floats(-20, 80), st.floats(1.05, 64), st.floats(1.5, 60))
terms |= st.builds(laplace, st.integers(2, 60), st.integers(2, 30), st.floats(1.05, 64), st.floats(1e-3, 3))


@given(terms, st.floats(0, 1), st.floats(-1, 1))
@settings(deadline=None, max_examples=40)
def test_no_two_numbers_within_a_step_cost_amounts_that_differ_by_more(
    term: Term, at: float, beside: float
) -> None:
    """Costs as enclosed, in which those of many digits lie (below)."""
    assert is_certified(term, DISTANCES)
    nearest, farthest = term.reach
    x = nearest + (farthest - nearest) * at
    y = min(max(x + beside * term.step, nearest), farthest)
    one, other = (term.rdp(np.array([number])) for number in (x, y))
    changes = next(term.windows())
    allowed = float(changes[term._cell_of(np.array([x]))][0]) * AMOUNT_UNIT
    assert abs(one.high - other.low)[0] <= allowed + 4e-12
    assert abs(other.high - one.low)[0] <= allowed + 4e-12


@given(terms)
@settings(deadline=None, max_examples=25)
def test_every_change_at_some_distance_is_that_of_no_distance_at_a_cell_within_reach(term: Term) -> None:
    nearest, *farther = islice(term.windows(), 4)
    for distance, largest in enumerate(farther, 1):
        reach = range(-CELLS * distance, CELLS * distance + 1)
        for cell in {0, len(nearest) // 3, len(nearest) - 1}:
            within = [nearest[cell + by] for by in reach if 0 <= cell + by < len(nearest)]
            assert largest[cell] == max(within)


@given(
    st.integers(2, 8),
    st.floats(1, 300),
    st.floats(1.05, 100),
    st.floats(0, 1),
)
@settings(deadline=None, max_examples=40)
def test_costs_hold_theorem6_in_many_digits(classes: int, sigma: float, order: float, at: float) -> None:
    term = argmax(40, classes, order, sigma)
    nearest, farthest = term.reach
    x = nearest + (farthest - nearest) * at
    found = term.rdp(np.array([x]))
    q = min((classes - 1) * oracle.upper_tail(x), 1 - mp.mpf(1) / classes)
    q = min(q + 2 * classes * oracle.upper_tail(11.75), mp.mpf(1))
    exact = min(term.worst, oracle.theorem6(q, sigma, order) if q < 1 else mp.inf)
    assert found.low[0] <= exact <= found.high[0]
    decided = found.high[0] - found.low[0] <= 1e-9 * found.high[0]
    assert decided or found.high[0] == pytest.approx(term.worst, rel=1e-12)


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=8).filter(any),
    st.floats(0.5, 1e4),
)
@settings(deadline=None, max_examples=40)
def test_numbers_are_no_farther_from_the_exact_ones_than_they_may_be(votes: list[int], sigma: float) -> None:
    counts = np.array([votes], dtype=np.float64)
    term = argmax_term(counts, sigma, Moves(4.0, 1.0, 1.0, counts.sum()))
    q = oracle.q_argmax(votes, sigma) / (len(votes) - 1)
    number = max(term.distances[0], term.reach[0])
    below = oracle.upper_tail(mp.mpf(number) - term.rounding)
    above = oracle.upper_tail(mp.mpf(number) + term.rounding)
    assert above <= q <= below


@given(st.integers(2, 8), st.floats(1e-3, 3), st.floats(1.05, 100), st.floats(0, 1))
@settings(deadline=None, max_examples=40)
def test_costs_hold_the_bound_of_laplace_noise_in_many_digits(
    classes: int, gamma: float, order: float, at: float
) -> None:
    term = laplace(40, classes, order, gamma)
    nearest, farthest = term.reach
    x = nearest + (farthest - nearest) * at
    found = term.rdp(np.array([x]))
    exact = min(mp.mpf(term.worst), oracle.theorem3(mp.exp(-mp.mpf(x)), 2 * mp.mpf(gamma), order))
    assert found.low[0] <= exact <= found.high[0]
    decided = found.high[0] - found.low[0] <= 1e-9 * found.high[0] + 1e-12
    assert decided or found.high[0] == pytest.approx(term.worst, rel=1e-12)


@given(st.lists(st.integers(0, 60), min_size=2, max_size=8).filter(any), st.floats(1e-3, 3))
@settings(deadline=None, max_examples=40)
def test_numbers_of_laplace_noise_are_no_farther_from_the_exact_ones_than_they_may_be(
    votes: list[int], gamma: float
) -> None:
    counts = np.array([votes], dtype=np.float64)
    term = laplace_term(counts, gamma, Moves(4.0, 1.0, 1.0, counts.sum(), LATTICE), 1.0)
    exact = -mp.log(oracle.q_laplace(votes, gamma, LATTICE))
    assert abs(max(term.distances[0], term.reach[0]) - exact) <= term.rounding
    assert term.rounding < term.step * 1e-7


@given(st.lists(st.integers(1, 60), min_size=2, max_size=8), st.floats(1e-3, 3), st.randoms())
@settings(deadline=None, max_examples=40)
def test_one_vote_moves_the_number_of_laplace_noise_by_its_step_at_most(
    votes: list[int], gamma: float, random: Any
) -> None:
    """By the exact bound on another outcome, whose plurality may change with the vote."""
    other = list(votes)
    other[random.randrange(len(votes))] -= 1
    other[random.randrange(len(votes))] += 1
    numbers = [mp.log(oracle.q_laplace(each, gamma, LATTICE)) for each in (votes, other)]
    assert abs(numbers[0] - numbers[1]) <= 2 * mp.mpf(gamma) * (1 + mp.mpf(10) ** -20)


# What it refuses.


def never_wider(self: Term) -> Iterator[Whole]:
    while True:
        yield self._nearest


def without_what_lies_behind(self: Term) -> Iterator[Whole]:
    """Yield changes to farther numbers alone: a neighbour that costs more is forgotten."""
    least, most = self.costs
    largest = most - np.append(least[CELLS:], np.full(CELLS, least[-1]))
    while True:
        yield largest
        largest = np.asarray(maximum_filter1d(largest, 2 * CELLS + 1, mode="nearest"))


def one_cell_short(self: Term) -> Iterator[Whole]:
    largest = self._nearest
    while True:
        yield largest
        largest = np.asarray(maximum_filter1d(largest, 2 * CELLS - 1, mode="nearest"))


@pytest.mark.parametrize(("teachers", "classes", "order", "sigma"), STEEP)
@pytest.mark.parametrize("windows", [by_whole_steps, never_wider, without_what_lies_behind, one_cell_short])
def test_windows_that_are_not_smooth_get_none(
    windows: Callable[[Term], Iterator[Whole]],
    teachers: int,
    classes: int,
    order: float,
    sigma: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    term = argmax(teachers, classes, order, sigma)
    assert is_certified(term, DISTANCES)
    monkeypatch.setattr(Term, "windows", windows)
    assert not is_certified(term, DISTANCES)


def test_windows_by_whole_steps_are_not_smooth(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that refusing them is no matter of taste: their noises tell neighbours apart."""
    monkeypatch.setattr(Term, "windows", by_whole_steps)
    assert max(smooth_ratio(argmax(*rest), rest[2]) for rest in STEEP) > 5


def test_costs_that_rise_get_none() -> None:
    term = argmax(30, 4, 8.0, 8.298)
    rising = replace(term, rdp=lambda numbers: Interval.of(numbers / 1e3))
    assert not is_certified(rising, DISTANCES)
    falling = replace(term, rdp=lambda numbers: Interval.of((10.0 - numbers) / 1e3))
    assert is_certified(falling, DISTANCES)


@pytest.mark.parametrize(
    "how",
    [
        {"rounding": 1e-3},
        {"step": 1e-6},
        {"worst": 1e5},
        {"reach": (0.0, 1e6)},
        {"distances": np.zeros(2**30)},
    ],
    ids=lambda how: next(iter(how)),
)
def test_what_whole_numbers_cannot_count_gets_none(how: dict[str, Any]) -> None:
    assert not is_certified(replace(argmax(30, 4, 8.0, 8.298), **how), DISTANCES)


def test_a_limit_below_the_last_change_gets_none(monkeypatch: pytest.MonkeyPatch) -> None:
    term = argmax(30, 4, 8.0, 8.298)
    limit = term.limit()
    monkeypatch.setattr(Term, "limit", lambda self: limit - 1)
    assert not is_certified(term, DISTANCES)
