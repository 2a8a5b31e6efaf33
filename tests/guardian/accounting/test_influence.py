"""What heavier votes, and several votes of one unit, cost: against every neighbour, in many digits."""

import itertools
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence
from ostraka.common.sharing.ballots import clip_l2
from ostraka.guardian.accounting import (
    binary_and_check_rdp,
    binary_rdp,
    confident_rdp,
    gnmax_rdp,
    interactive_rdp,
    lnmax_rdp,
    powerset_and_check_rdp,
    powerset_rdp,
    threshold_rdp,
)
from ostraka.guardian.accounting.numerics.arguments import Bound
from tests.guardian.accounting import labels, oracle

AT = np.array(ORDERS)
SOME = np.array([1.5, 2.0, 8.0, 32.0, 256.0])
FAR = 1e-11
HEAVY = [Influence(weight=weight) for weight in (0.37, 1.6, 2.5)]
SEVERAL = [Influence(2), Influence(3, 0.37), Influence(2, 1.6), Influence(4, 0.5)]
histograms = st.lists(st.floats(0, 30), min_size=3, max_size=3).map(
    lambda votes: [round(v, 2) for v in votes]
)
influences = st.sampled_from([*HEAVY, *SEVERAL])

Counts = tuple[float, ...]


def neighbours(counts: Sequence[float], influence: Influence) -> Iterator[Counts]:
    """Every histogram that at most so many votes lead to, from any classes to any."""
    steps = range(-influence.votes, influence.votes + 1)
    for moved in itertools.product(steps, repeat=len(counts)):
        if sum(moved) == 0 and 0 < sum(abs(by) for by in moved) <= 2 * influence.votes:
            yield tuple(count + influence.weight * by for count, by in zip(counts, moved, strict=True))


@cache
def argmax(counts: Counts, sigma: float) -> list[Any]:
    with mp.workdps(40):
        return oracle.argmax_probabilities(counts, sigma)


def both_ways(p: Sequence[Any], r: Sequence[Any], order: float) -> Any:
    return max(oracle.small_divergence(p, r, order), oracle.small_divergence(r, p, order))


def largest(counts: Sequence[float], sigma: float, influence: Influence, order: float) -> float:
    here = argmax(tuple(counts), sigma)
    return float(max(both_ways(here, argmax(there, sigma), order) for there in neighbours(counts, influence)))


@pytest.mark.heavy
@pytest.mark.parametrize("influence", HEAVY, ids=str)
@pytest.mark.parametrize("counts", [[22.5, 11.25, 4.0], [9.75, 9.75, 9.5], [30.0, 0.0, 0.5]])
def test_one_vote_of_any_weight_equals_many_digit_arithmetic(
    counts: list[float], influence: Influence
) -> None:
    rdp = gnmax_rdp([counts], 5, SOME, influence=influence)[0]
    worst = SOME * (influence.sensitivity / 5) ** 2
    expected = [largest(counts, 5, influence, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(expected, worst))


@pytest.mark.heavy
@pytest.mark.parametrize("influence", SEVERAL, ids=str)
@pytest.mark.parametrize("counts", [[20.5, 12.0], [9.0, 9.0], [25.0, 0.0]])
def test_several_votes_between_two_classes_equal_many_digit_arithmetic(
    counts: list[float], influence: Influence
) -> None:
    """All of them together, in the worse direction: fewer never cost more."""
    rdp = gnmax_rdp([counts], 6, SOME, influence=influence)[0]
    worst = SOME * (influence.sensitivity / 6) ** 2
    expected = [largest(counts, 6, influence, order) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(expected, worst))


@pytest.mark.heavy
@pytest.mark.parametrize("influence", SEVERAL, ids=str)
@pytest.mark.parametrize("counts", [[22.0, 11.0, 4.0], [9.0, 9.0, 9.0], [30.0, 0.0, 0.0]])
def test_several_votes_of_any_classes_cost_no_less_than_any_move_and_little_more(
    counts: list[float], influence: Influence
) -> None:
    rdp = gnmax_rdp([counts], 10, SOME, influence=influence)[0]
    worst = SOME * (influence.sensitivity / 10) ** 2
    for order, cost, most in zip(SOME.tolist(), rdp.tolist(), worst.tolist(), strict=True):
        true = largest(counts, 10, influence, order)
        assert true <= cost * (1 + 1e-9)
        assert cost <= min(most, (order + 1) / (order - 1) * true) * (1 + 1e-12)


@pytest.mark.heavy
@given(histograms, influences, st.sampled_from([2.0, 5.0, 20.0]), st.sampled_from([1.5, 6.0, 64.0]))
@settings(deadline=None, max_examples=8)
def test_no_neighbour_exceeds_the_charge(
    counts: list[float], influence: Influence, sigma: float, order: float
) -> None:
    rdp = gnmax_rdp([counts], sigma, order, influence=influence)[0, 0]
    assert largest(counts, sigma, influence, order) <= rdp * (1 + 1e-9) + 1e-300


@pytest.mark.heavy
@given(histograms, influences, st.sampled_from([2.0, 5.0, 20.0]), st.sampled_from([1.5, 6.0, 64.0]))
@settings(deadline=None, max_examples=8)
def test_theorem6_bounds_its_direction_for_every_neighbour(
    counts: list[float], influence: Influence, sigma: float, order: float
) -> None:
    bound = gnmax_rdp([counts], sigma, order, bound="theorem6", influence=influence)[0, 0]
    here = argmax(tuple(counts), sigma)
    for there in neighbours(counts, influence):
        assert oracle.small_divergence(here, argmax(there, sigma), order) <= bound * (1 + 1e-9)


@pytest.mark.heavy
@given(histograms, influences, st.floats(2, 40), st.sampled_from([0.0, 2.0**-16]))
@settings(deadline=None, max_examples=20)
def test_never_above_the_worst_case(
    counts: list[float], influence: Influence, sigma: float, lattice: float
) -> None:
    steps = np.floor(np.array([counts]) * 2**16) / 2**16
    worst = gnmax_rdp(steps, sigma, AT, bound="worst_case", influence=influence)
    np.testing.assert_allclose(worst[0], AT * (influence.sensitivity / sigma) ** 2)
    rdp = gnmax_rdp(steps, sigma, AT, influence=influence, lattice=lattice)
    assert ((rdp >= 0) & (rdp <= worst)).all()
    check = threshold_rdp(steps, 12, sigma, AT, influence=influence, lattice=lattice)
    assert (check <= threshold_rdp(steps, 12, sigma, AT, bound="worst_case", influence=influence)).all()


def test_more_votes_cost_more_and_as_many_at_once_cost_less_than_each_its_way() -> None:
    votes = np.array([[40.0, 5, 5], [20, 16, 14]])
    costs = [gnmax_rdp(votes, 20, AT, influence=Influence(n)) for n in (1, 2, 3, 4)]
    assert all((fewer <= more).all() for fewer, more in itertools.pairwise(costs))
    assert (gnmax_rdp(votes, 20, AT, influence=Influence(weight=3.0)) <= costs[2]).all()


THRESHOLD, SIGMAS = 12.0, (6.0, 4.0)


def outcomes(counts: Counts, values: Sequence[float]) -> list[Any]:
    """Failed, or passed with each label; the check is on the circular distance of `values`."""
    z = (mp.mpf(THRESHOLD) - max(abs(value) for value in values)) / SIGMAS[0]
    return [oracle.upper_tail(-z), *(oracle.upper_tail(z) * p for p in argmax(counts, SIGMAS[1]))]


def moment(p: Sequence[Any], r: Sequence[Any], order: float, pair: tuple[float, float]) -> float:
    """Return what a filter needs to be at most 1 (docs/accounting.md)."""
    a = mp.mpf(order)
    costs = [pair[0], *[pair[1]] * (len(p) - 1)]
    terms = (
        x**a * y ** (1 - a) * mp.exp((1 - a) * mp.mpf(cost)) for x, y, cost in zip(p, r, costs, strict=True)
    )
    return float(mp.fsum(terms) - 1)


@pytest.mark.heavy
@given(histograms, influences, st.sampled_from([1.5, 6.0, 32.0]))
@settings(deadline=None, max_examples=8)
def test_confidents_charges_keep_the_promise_for_every_neighbour(
    counts: list[float], influence: Influence, order: float
) -> None:
    failed, passed = confident_rdp(
        [counts] * 2, THRESHOLD, *SIGMAS, order, [False, True], influence=influence
    )[:, 0].tolist()
    here = outcomes(tuple(counts), counts)
    for moved in neighbours(counts, influence):
        there = outcomes(moved, moved)
        assert moment(here, there, order, (failed, passed)) <= FAR
        assert moment(there, here, order, (failed, passed)) <= FAR


@pytest.mark.heavy
@given(
    histograms,
    st.lists(st.integers(0, 2**8), min_size=3, max_size=3),
    influences,
    st.sampled_from([1.5, 6.0, 32.0]),
)
@settings(deadline=None, max_examples=8)
def test_interactives_charges_keep_the_promise_for_every_neighbour(
    counts: list[float], parts: list[int], influence: Influence, order: float
) -> None:
    scores = [part / 2**8 for part in parts]
    failed, passed = interactive_rdp(
        [counts] * 2, [scores] * 2, THRESHOLD, *SIGMAS, order, [False, True], influence=influence
    )[:, 0].tolist()
    n = sum(counts)

    def asked(votes: Sequence[float]) -> list[Any]:
        differences = [abs(v + n * (1 - p)) - n for v, p in zip(votes, scores, strict=True)]
        z = (mp.mpf(THRESHOLD) - max(differences)) / SIGMAS[0]
        return [oracle.upper_tail(-z), *(oracle.upper_tail(z) * p for p in argmax(tuple(votes), SIGMAS[1]))]

    here = asked(counts)
    for moved in neighbours(counts, influence):
        there = asked(moved)
        assert moment(here, there, order, (failed, passed)) <= FAR
        assert moment(there, here, order, (failed, passed)) <= FAR


@pytest.mark.parametrize("bound", ["theorem6", "exact"])
def test_on_the_lattice_interactive_rounds_the_scores_share_down_as_it_is_released(bound: Bound) -> None:
    """2.75 (1 - 0.25) is 2.0625 and becomes 2, so the largest difference is 2.25 - 2.75 + 2."""
    asked = interactive_rdp([[2.25, 0.5]], [[0.25, 0.75]], 9, 4, 1e9, 8.0, [False], lattice=0.25, bound=bound)
    same = confident_rdp([[1.5, 0.0]], 9, 4, 1e9, 8.0, [False], lattice=0.25, bound=bound)
    np.testing.assert_allclose(asked, same, rtol=1e-6)


@pytest.mark.parametrize("influence", [Influence(weight=1.6), Influence(3), Influence(2, 2.5)], ids=str)
def test_bits_and_checks_equal_many_digit_arithmetic_over_every_number_of_votes(
    influence: Influence,
) -> None:
    """A label near an even split: its check may cost most where fewer than all votes change."""
    positives, n = [4.5, 24.0, 26.5, 49.25], 50.0
    answered = [True, True, False, True]
    released = labels.both(labels.check(25.0, 2.0), labels.vote(11.0))
    label = [(p, n, given_) for p, given_ in zip(positives, answered, strict=True)]
    moves = [sign * t * influence.weight for t in range(1, influence.votes + 1) for sign in (-1, 1)]
    args = [positives], n, 25.0, 2.0, 11.0, SOME, [answered]
    rdp = binary_and_check_rdp(*args, influence=influence)[0]
    worst = binary_and_check_rdp(*args, bound="worst_case", influence=influence)[0]
    exact = [labels.flipped(released, label, order, moves) for order in SOME.tolist()]
    oracle.assert_equal(rdp, np.minimum(exact, worst))
    bits = binary_rdp([positives], n, 11.0, SOME, influence=influence)[0]
    every = [(p, n, True) for p in positives]
    exact = [labels.flipped(labels.vote(11.0), every, order, moves) for order in SOME.tolist()]
    oracle.assert_equal(
        bits,
        np.minimum(exact, binary_rdp([positives], n, 11.0, SOME, bound="worst_case", influence=influence)[0]),
    )


@pytest.mark.heavy
@given(st.integers(0, 2**32), st.sampled_from([Influence(weight=1.5), Influence(3, 0.5), Influence(2)]))
@settings(deadline=None, max_examples=20)
def test_no_replaced_clipped_ballots_exceed_the_charge(seed: int, influence: Influence) -> None:
    draws, tau, sigma, order = np.random.default_rng(seed), 1.3, 2.0, 6.0
    weight = int(influence.weight * 2**16)
    likely = draws.choice([0.05, 0.5, 0.95], size=6)
    here = (draws.random((20, 1, 6)) < likely).astype(np.float32)
    votes, n = clip_l2(here, tau, weight), 20 * influence.weight
    bound = binary_rdp(votes, n, sigma, order, tau=tau, influence=influence)[0, 0]
    for _ in range(30):
        there = here.copy()
        there[: influence.votes] = draws.random((influence.votes, 1, 6)) < draws.random()
        cost = labels.joint(sigma, votes[0], clip_l2(there, tau, weight)[0], n, order)
        assert cost <= bound * (1 + 1e-9) + 1e-13


SETS = np.array([[20.5, 9.5, 0.0, 0.0], [8.0, 8.0, 8.0, 0.0], [30.0, 0.0, 0.0, 0.0]])


@pytest.mark.parametrize("influence", [*HEAVY[1:], *SEVERAL[:2]], ids=str)
def test_powerset_over_few_sets_is_gnmax_and_confident_over_all_of_them(influence: Influence) -> None:
    how: dict[str, Any] = {"influence": influence}
    np.testing.assert_allclose(
        powerset_rdp(SETS, 2, 7, SOME, **how), gnmax_rdp(SETS, 7, SOME, **how), rtol=1e-9, atol=1e-290
    )
    for answered in ([True] * 3, [False] * 3):
        np.testing.assert_allclose(
            powerset_and_check_rdp(SETS, 2, 15, 9, 7, SOME, answered, **how),
            confident_rdp(SETS, 15, 9, 7, SOME, answered, **how),
            rtol=1e-6,
            atol=1e-14,
        )


@given(st.floats(-40, 40), influences, st.sampled_from([0.1, 0.5]), st.sampled_from([1.5, 8.0]))
@settings(deadline=None, max_examples=20)
def test_lnmax_covers_every_neighbour(gap: float, influence: Influence, gamma: float, order: float) -> None:
    cost = lnmax_rdp([[max(gap, 0.0), max(-gap, 0.0)]], gamma, order, influence=influence)[0, 0]
    with mp.workdps(60):
        here = laplace_wins(gap, gamma)
        for by in (-2 * influence.sensitivity, 2 * influence.sensitivity):
            assert both_ways(here, laplace_wins(gap + by, gamma), order) <= cost * (1 + 1e-9)


def laplace_wins(gap: float, gamma: float) -> list[Any]:
    """Win probabilities of two classes whose counts lie `gap` apart."""
    scaled = mp.mpf(gamma) * abs(mp.mpf(gap))
    less = (2 + scaled) / (4 * mp.exp(scaled))
    return [1 - less, less] if gap >= 0 else [less, 1 - less]


@pytest.mark.parametrize("bound", ["theorem6", "exact"])
def test_queries_on_which_nobody_votes_cost_what_a_tie_does(bound: Bound) -> None:
    none, tie = ([[count] * 3] for count in (0.0, 7.0))
    influence = Influence(2, 1.6)
    np.testing.assert_allclose(
        gnmax_rdp(none, 5, AT, bound=bound, influence=influence),
        gnmax_rdp(tie, 5, AT, bound=bound, influence=influence),
        rtol=1e-9,
    )
