"""Confident under `exact`: charges by the check's outcome keep a filter's promise for every neighbour."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.mechanism import Confident
from ostraka.common.privacy import ONE_VOTE, ORDERS, Influence
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import reservation
from ostraka.guardian.noise import LATTICE
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)
SOME = [1.5, 4.0, 18.0, 64.0]
DIGITS = 120
FAR = 1e-12
influences = st.builds(Influence, st.integers(1, 3), st.sampled_from([0.37, 0.5, 1.0, 1.6, 2.5]))

counts = st.lists(st.integers(0, 60), min_size=2, max_size=4).filter(any)


def charges(
    votes: Sequence[float],
    threshold: float,
    sigmas: tuple[float, float],
    order: float,
    *,
    influence: Influence = ONE_VOTE,
    lattice: float = 0.0,
) -> tuple[float, float]:
    """Return the cost of a failed and of a passed check."""
    rdp = confident_rdp(
        [votes, votes],
        threshold,
        *sigmas,
        order,
        [False, True],
        bound="exact",
        influence=influence,
        lattice=lattice,
    )
    return float(rdp[0, 0]), float(rdp[1, 0])


@cache
def argmax(votes: tuple[int, ...], sigma: float) -> list[Any]:
    with mp.workdps(40):
        return oracle.argmax_probabilities(votes, sigma)


def outcomes(votes: Sequence[int], threshold: float, sigmas: tuple[float, float]) -> list[Any]:
    """Probabilities of: failed, passed with label 0, with label 1, ..."""
    with mp.workdps(DIGITS):
        z = (mp.mpf(threshold) - max(votes)) / mp.mpf(sigmas[0])
        passed = oracle.upper_tail(z)
        return [oracle.upper_tail(-z), *(passed * p for p in argmax(tuple(votes), sigmas[1]))]


def moves(votes: Sequence[int]) -> list[list[int]]:
    pairs = [(a, b) for a in range(len(votes)) for b in range(len(votes)) if a != b]
    return [[v - (i == a) + (i == b) for i, v in enumerate(votes)] for a, b in pairs]


def moment(p: Sequence[Any], r: Sequence[Any], order: float, pair: tuple[float, float]) -> Any:
    """sum_o p^a r^(1-a) e^(-(a-1) charge), which a filter needs to be at most 1."""
    a = mp.mpf(order)
    costs = [pair[0], *[pair[1]] * (len(p) - 1)]
    with mp.workdps(DIGITS):
        return mp.fsum(
            x**a * y ** (1 - a) * mp.exp((1 - a) * mp.mpf(cost))
            for x, y, cost in zip(p, r, costs, strict=True)
        )


def worst_moment(
    votes: Sequence[int],
    threshold: float,
    sigmas: tuple[float, float],
    order: float,
    pair: tuple[float, float],
) -> float:
    here = outcomes(votes, threshold, sigmas)
    every = [outcomes(moved, threshold, sigmas) for moved in moves(votes)]
    both = [moment(p, r, order, pair) for there in every for p, r in ((here, there), (there, here))]
    return float(max(both) - 1)


@pytest.mark.heavy
@given(
    st.lists(st.integers(0, 40), min_size=2, max_size=3).filter(any),
    st.integers(-10, 60),
    st.sampled_from([6.0, 25.0]),
    st.sampled_from([3.0, 9.0]),
)
@settings(deadline=None, max_examples=12)
def test_the_promise_holds_for_every_neighbour_and_direction(
    votes: list[int], threshold: int, sigma1: float, sigma2: float
) -> None:
    for order in SOME:
        pair = charges(votes, threshold, (sigma1, sigma2), order)
        assert worst_moment(votes, threshold, (sigma1, sigma2), order, pair) <= FAR


@pytest.mark.parametrize("order", SOME[:3])
@pytest.mark.parametrize(
    ("votes", "threshold"), [([30, 15, 5], 25), ([26, 24, 0], 40), ([24, 25, 1], 10), ([50, 0, 0], 45)]
)
def test_no_pair_that_holds_expects_less(votes: list[int], threshold: float, order: float) -> None:
    sigmas = (10.0, 5.0)
    failed, passed = charges(votes, threshold, sigmas, order)
    most = order / (2 * sigmas[0] ** 2), order / (2 * sigmas[0] ** 2) + order / sigmas[1] ** 2
    fails = float(outcomes(votes, threshold, sigmas)[0])
    expected = fails * failed + (1 - fails) * passed
    for other in np.linspace(0, most[0], 9):
        cheaper = (expected * (1 - 1e-6) - fails * other) / (1 - fails)
        if 0 <= cheaper <= most[1]:
            assert worst_moment(votes, threshold, sigmas, order, (other, cheaper)) > 0


@pytest.mark.heavy
@given(counts, st.integers(0, 80), st.sampled_from(SOME))
@settings(deadline=None, max_examples=25)
def test_it_expects_no_more_than_the_largest_divergences(
    votes: list[int], threshold: int, order: float
) -> None:
    failed, passed = charges(votes, threshold, (20.0, 12.0), order)
    check = threshold_rdp([votes], threshold, 20, order, bound="exact")[0, 0]
    apart = check + gnmax_rdp([votes], 12, order, bound="exact")[0, 0]
    fails = float(outcomes(votes, threshold, (20.0, 12.0))[0])
    assert fails * failed + (1 - fails) * passed <= (fails * check + (1 - fails) * apart) * (1 + 1e-9) + 1e-15


@pytest.mark.heavy
@given(
    counts,
    st.integers(-10, 90),
    st.floats(0.5, 60),
    st.floats(0.5, 60),
    influences,
    st.sampled_from([0.0, LATTICE]),
)
@settings(deadline=None, max_examples=40)
def test_no_charge_exceeds_what_was_reserved_for_its_outcome(
    votes: list[int], threshold: int, sigma1: float, sigma2: float, influence: Influence, lattice: float
) -> None:
    args = ([votes, votes], threshold, sigma1, sigma2, AT[::16], [False, True])
    exact = confident_rdp(*args, bound="exact", influence=influence, lattice=lattice)
    worst = confident_rdp(*args, bound="worst_case", influence=influence)
    assert (exact >= 0).all()
    assert (exact <= worst * (1 + 1e-12)).all()
    plan = Confident(sigma1=sigma1, sigma2=sigma2, threshold=1)
    for order, charge in zip(AT[::16], exact.max(axis=0), strict=True):
        most = plan.worst_case(order, influence.sensitivity, classes=len(votes))
        assert charge <= (most.check + most.answer) * (1 + 1e-12)


@pytest.mark.parametrize("influence", [ONE_VOTE, Influence(2)])
@pytest.mark.parametrize(("classes", "lattice"), [(129, 0.0), (3, 5.0)])
def test_what_is_not_proved_is_charged_what_was_reserved(
    classes: int, lattice: float, influence: Influence
) -> None:
    """Many classes, and a lattice too coarse."""
    args = ([[5] * classes] * 2, 4, 10, 5, AT[::8], [False, True])
    exact = confident_rdp(*args, influence=influence, lattice=lattice)
    most = reservation(2, classes, (10, 5), AT[::8], influence.sensitivity, lattice)
    np.testing.assert_array_equal(exact, [most.failed[0], most.passed[0]])


@pytest.mark.heavy
@given(st.permutations([40, 25, 25, 3, 0]), st.integers(20, 60))
@settings(deadline=None, max_examples=20)
def test_classes_may_be_reordered(votes: list[int], threshold: int) -> None:
    args = (threshold, 15, 6, AT[:140:20], [True])
    np.testing.assert_allclose(
        confident_rdp([votes], *args), confident_rdp([sorted(votes)], *args), rtol=1e-6, atol=1e-14
    )


@pytest.mark.heavy
@given(counts, st.integers(0, 60), st.sampled_from([0.125, 0.37, 1.6, 2.5]))
@settings(deadline=None, max_examples=20)
def test_votes_threshold_sigmas_and_sensitivity_scale_together(
    votes: list[int], threshold: int, by: float
) -> None:
    scaled = charges(
        [v * by for v in votes], threshold * by, (15 * by, 6 * by), 8, influence=Influence(weight=by)
    )
    np.testing.assert_allclose(scaled, charges(votes, threshold, (15, 6), 8), rtol=1e-6, atol=1e-14)


def test_queries_are_charged_alike_alone_and_together() -> None:
    votes = np.array([[50, 0, 0], [30, 15, 5], [20, 15, 15], [0, 0, 0]] * 90)
    answered = np.arange(len(votes)) % 3 == 0
    together = confident_rdp(votes, 25, 10, 5, [2, 18], answered)
    for i in range(12):
        alone = confident_rdp(votes[i : i + 1], 25, 10, 5, [2, 18], answered[i : i + 1])[0]
        np.testing.assert_allclose(together[i], alone, rtol=1e-6, atol=1e-14)


def test_shifted_sums_cost_what_the_votes_do() -> None:
    assert charges([0, 0], 5, (10, 5), 8) == pytest.approx(charges([9, 9], 14, (10, 5), 8), rel=1e-9)


def test_an_empty_batch_has_no_rows() -> None:
    assert confident_rdp(np.zeros((0, 3)), 25, 10, 5, AT, np.zeros(0, bool)).shape == (0, len(AT))


THRESHOLD, SIGMAS = 12.0, (6.0, 4.0)
ROUNDS = 4


@cache
def _steps(votes: tuple[int, ...], order: float) -> tuple[list[float], list[list[float]]]:
    """Charges by outcome, and p^a r^(1-a) by outcome for every neighbour and direction."""
    pair = charges(votes, THRESHOLD, SIGMAS, order)
    here = outcomes(votes, THRESHOLD, SIGMAS)
    every = [outcomes(moved, THRESHOLD, SIGMAS) for moved in moves(votes)]
    a = mp.mpf(order)
    sums = [
        [float(x**a * y ** (1 - a)) for x, y in zip(p, r, strict=True)]
        for there in every
        for p, r in ((here, there), (there, here))
    ]
    return [pair[0], *[pair[1]] * len(votes)], sums


def _asked(answers: tuple[int, ...]) -> tuple[int, ...]:
    """Votes on the next query, which depend on the answers so far."""
    shift = (sum((i + 1) * (o + 1) for i, o in enumerate(answers)) * 3) % 8
    return (6 + shift, 14 - shift, 1)


def _worst(answers: tuple[int, ...], left: float, order: float, charged: bool) -> float:
    """E[e^((a-1) loss)], less charges where `charged`, for the costliest neighbour after every answer.

    A query is asked while its worst case is left of the limit, as a filter does.
    """
    reserved = order / (2 * SIGMAS[0] ** 2) + order / SIGMAS[1] ** 2
    if len(answers) == ROUNDS or left < reserved:
        return 1.0
    costs, sums = _steps(_asked(answers), order)
    after = [
        _worst((*answers, o), left - cost, order, charged) * (np.exp((1 - order) * cost) if charged else 1)
        for o, cost in enumerate(costs)
    ]
    return max(float(np.dot(parts, after)) for parts in sums)


@pytest.mark.parametrize("order", [2.0, 6.0, 18.0])
def test_a_filter_keeps_its_limit_over_adaptive_queries(order: float) -> None:
    """All outcomes summed, no sampling: neighbours move any vote of any query, knowing the answers."""
    reserved = order / (2 * SIGMAS[0] ** 2) + order / SIGMAS[1] ** 2
    limit = 2.5 * reserved
    assert _worst((), limit, order, charged=True) <= 1 + 1e-10
    loss = _worst((), limit, order, charged=False)
    assert 1 < loss <= np.exp((order - 1) * limit)


def test_per_outcome_minima_of_two_pairs_that_hold_break_the_promise() -> None:
    """Why the cheaper entry of each pair must not be taken."""
    votes, order, sigmas = [26, 24, 0], 8.0, (10.0, 5.0)
    one = charges(votes, 25, sigmas, order)
    joint = [outcomes(v, 25, sigmas) for v in (votes, *moves(votes))]
    both = [
        oracle.small_divergence(p, r, order)
        for there in joint[1:]
        for p, r in ((joint[0], there), (there, joint[0]))
    ]
    other = (float(max(both)), float(max(both)))
    assert worst_moment(votes, 25, sigmas, order, other) <= FAR
    cheapest = min(one[0], other[0]), min(one[1], other[1])
    assert worst_moment(votes, 25, sigmas, order, cheapest) > 1e-6
