"""Charges by released label: against many digits, another solver, and a filter that asks adaptively."""

from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import ONE_VOTE, Influence, InputError
from ostraka.guardian.accounting.bounds.confident_rdp import confident_charges, confident_rdp, reservation
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_charges, gnmax_rdp
from ostraka.guardian.accounting.bounds.interactive_rdp import interactive_charges, interactive_rdp
from ostraka.guardian.noise import LATTICE
from tests.guardian.accounting.bounds.test_confident_rdp import DIGITS, FAR, argmax, moves, outcomes

Votes = tuple[int, ...]
SIGMAS = (10.0, 5.0)
CASES = [((30, 15, 5), 25.0), ((26, 24, 0), 40.0), ((24, 25, 1), 10.0)]
histograms = st.lists(st.integers(0, 40), min_size=2, max_size=3).filter(any).map(tuple)


def by_label(
    votes: Votes, threshold: float, order: float, sigmas: tuple[float, float] = SIGMAS, **how: Any
) -> list[float]:
    """Return what a failed check costs, and what each label does."""
    charges = confident_charges([votes], threshold, *sigmas, order, **how)
    return [float(charges.failed[0, 0]), *charges.labels[0, 0].tolist()]


def exceeded(here: list[Any], every: list[list[Any]], order: float, costs: list[float]) -> float:
    """Return by how much the largest sum of p^a r^(1-a) e^(-(a-1) cost) exceeds 1."""
    a = mp.mpf(order)
    with mp.workdps(DIGITS):
        sums = [
            mp.fsum(
                x**a * y ** (1 - a) * mp.exp((1 - a) * mp.mpf(c)) for x, y, c in zip(p, r, costs, strict=True)
            )
            for there in every
            for p, r in ((here, there), (there, here))
        ]
        return float(max(sums) - 1)


@pytest.mark.heavy
@given(histograms, st.integers(-10, 60), st.sampled_from([6.0, 25.0]), st.sampled_from([3.0, 9.0]))
@settings(deadline=None, max_examples=12)
def test_the_promise_holds_for_every_neighbour_and_direction(
    votes: Votes, threshold: int, sigma1: float, sigma2: float
) -> None:
    here = outcomes(votes, threshold, (sigma1, sigma2))
    every = [outcomes(moved, threshold, (sigma1, sigma2)) for moved in moves(votes)]
    for order in (1.5, 4.0, 18.0, 64.0):
        assert exceeded(here, every, order, by_label(votes, threshold, order, (sigma1, sigma2))) <= FAR


@pytest.mark.heavy
@given(histograms, st.sampled_from([3.0, 9.0]), st.sampled_from([1.5, 4.0, 18.0, 64.0]))
@settings(deadline=None, max_examples=20)
def test_the_promise_of_gnmax_holds_by_label(votes: Votes, sigma: float, order: float) -> None:
    costs = gnmax_charges([votes], sigma, order).labels[0, 0].tolist()
    every = [argmax(tuple(moved), sigma) for moved in moves(votes)]
    assert exceeded(argmax(votes, sigma), every, order, costs) <= FAR
    chances = np.array([float(p) for p in argmax(votes, sigma)])
    whole = float(gnmax_rdp([votes], sigma, order, bound="exact")[0, 0])
    assert chances @ costs <= whole * (1 + 1e-9)
    worst = GnMax(sigma=sigma).worst_case(order, classes=len(votes)).answer
    assert 0 <= min(costs) <= max(costs) <= worst


def cheapest(votes: Votes, threshold: float, order: float, most: float) -> float:
    """Return the least expected charge that another solver finds, no charge being above `most`."""
    here = [float(p) for p in outcomes(votes, threshold, SIGMAS)]
    every = [[float(p) for p in outcomes(moved, threshold, SIGMAS)] for moved in moves(votes)]
    p, rate = np.array(here), order - 1
    limits = np.array([(p / r) ** rate * p for r in map(np.array, every)])
    limits = np.concatenate([limits, [(r / p) ** order * p for r in map(np.array, every)]])
    found = minimize(
        lambda w: -(p * np.log(w)).sum(),
        np.exp(-rate * np.full(len(p), most)) * 1.01,
        jac=lambda w: -p / w,
        bounds=[(np.exp(-rate * most), 1.0)] * len(p),
        constraints=[{"type": "ineq", "fun": lambda w: 1 - limits @ w, "jac": lambda w: -limits}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert (limits @ found.x <= 1 + 1e-9).all()
    return float(found.fun / rate)


@pytest.mark.parametrize("order", [4.0, 18.0])
@pytest.mark.parametrize(("votes", "threshold"), CASES)
def test_no_charges_that_hold_expect_less(votes: Votes, threshold: float, order: float) -> None:
    costs = by_label(votes, threshold, order)
    expected = sum(float(p) * cost for p, cost in zip(outcomes(votes, threshold, SIGMAS), costs, strict=True))
    assert expected <= cheapest(votes, threshold, order, max(costs)) * (1 + 1e-3)
    pair = confident_rdp([votes] * 2, threshold, *SIGMAS, order, [False, True])[:, 0]
    fails = float(outcomes(votes, threshold, SIGMAS)[0])
    assert expected <= float(fails * pair[0] + (1 - fails) * pair[1])


@given(
    st.lists(st.integers(0, 60), min_size=2, max_size=4).filter(any),
    st.integers(-10, 90),
    st.floats(0.5, 60),
    st.floats(0.5, 60),
    st.builds(Influence, st.integers(1, 2), st.sampled_from([0.37, 1.0, 2.5])),
    st.sampled_from([0.0, LATTICE]),
    st.sampled_from([1.001, 2.0, 18.0, 300.0, 1024.0]),
)
@settings(deadline=None, max_examples=40)
def test_no_charge_exceeds_what_was_reserved(
    votes: list[int],
    threshold: int,
    sigma1: float,
    sigma2: float,
    influence: Influence,
    lattice: float,
    order: float,
) -> None:
    charges = confident_charges(
        [votes], threshold, sigma1, sigma2, order, influence=influence, lattice=lattice
    )
    orders = np.array([order])
    most = reservation(1, len(votes), (sigma1, sigma2), orders, influence.sensitivity, lattice).passed[0, 0]
    assert (charges.failed >= 0).all()
    assert (charges.labels >= 0).all()
    assert charges.largest()[0, 0] <= most * (1 + 1e-12)


@pytest.mark.parametrize("influence", [ONE_VOTE, Influence(2)])
@pytest.mark.parametrize(("classes", "lattice"), [(129, 0.0), (3, 5.0)])
def test_where_nothing_is_proved_every_label_costs_the_worst_case(
    classes: int, lattice: float, influence: Influence
) -> None:
    votes = [[5] * classes]
    charges = confident_charges(votes, 4, 10, 5, [2, 18], influence=influence, lattice=lattice)
    alike = confident_rdp(votes * 2, 4, 10, 5, [2, 18], [False, True], influence=influence, lattice=lattice)
    np.testing.assert_array_equal(charges.failed[0], alike[0])
    np.testing.assert_array_equal(charges.labels[0], np.repeat(alike[1][:, None], classes, axis=1))
    answers = gnmax_charges(votes, 5, [2, 18], influence=influence, lattice=lattice).labels
    assert np.isfinite(answers).all()
    assert (answers == answers[:, :, :1]).all()


def test_several_votes_of_a_unit_are_charged_by_the_checks_outcome() -> None:
    two = Influence(2)
    failed, *labels = by_label((30, 15, 5), 25, 4.0, influence=two)
    pair = confident_rdp([(30, 15, 5)] * 2, 25, *SIGMAS, 4.0, [False, True], influence=two)[:, 0]
    assert [failed, *labels] == [pair[0], *[pair[1]] * 3]


def test_a_rare_label_costs_more_and_the_likely_one_less() -> None:
    pair = confident_rdp([(40, 8, 0)] * 2, 25, *SIGMAS, 18.0, [False, True])[:, 0]
    _, *labels = by_label((40, 8, 0), 25, 18.0)
    assert labels[0] < pair[1] < labels[1]


def test_released_labels_choose_their_charges() -> None:
    votes, labels = [(30, 15, 5)] * 4, np.array([-1, 0, 1, 2])
    answered = labels >= 0
    costs = by_label((30, 15, 5), 25, 4.0)
    rdp = confident_rdp(votes, 25, *SIGMAS, 4.0, answered, labels=labels)[:, 0]
    np.testing.assert_allclose(rdp, costs, rtol=1e-9)
    rdp = gnmax_rdp(votes[1:], 5, 4.0, labels=labels[1:])[:, 0]
    np.testing.assert_allclose(rdp, gnmax_charges(votes[:1], 5, 4.0).labels[0, 0], rtol=1e-9)
    scores = [(0.5, 0.25, 0.25)] * 4
    rdp = interactive_rdp(votes, scores, 5, *SIGMAS, 4.0, answered, labels=labels)[:, 0]
    charges = interactive_charges(votes[:1], scores[:1], 5, *SIGMAS, 4.0)
    np.testing.assert_allclose(rdp, [charges.failed[0, 0], *charges.labels[0, 0]], rtol=1e-9)


@pytest.mark.parametrize("labels", [[0, 3], [0, -1], [0.0, 1.0], [0]])
def test_released_labels_must_be_classes(labels: list[Any]) -> None:
    with pytest.raises(InputError, match="labels"):
        confident_rdp([(3, 1, 0)] * 2, 2, *SIGMAS, 4.0, [True, True], labels=labels)


LIMIT, ROUNDS, THRESHOLD = 2.5, 3, 12.0


@cache
def _steps(votes: Votes, order: float) -> tuple[list[float], list[list[float]]]:
    """Return charges by outcome, and p^a r^(1-a) by outcome for every neighbour and direction."""
    here = outcomes(votes, THRESHOLD, SIGMAS)
    a = mp.mpf(order)
    sums = [
        [float(x**a * y ** (1 - a)) for x, y in zip(p, r, strict=True)]
        for there in (outcomes(moved, THRESHOLD, SIGMAS) for moved in moves(votes))
        for p, r in ((here, there), (there, here))
    ]
    return by_label(votes, THRESHOLD, order), sums


def _worst(answers: Votes, left: float, order: float, charged: bool) -> float:
    """Return E[e^((a-1) loss)], less charges where `charged`, for the costliest neighbour of every query.

    The votes on a query depend on the answers so far, and it is asked while its dearest outcome is left.
    """
    shift = sum((i + 1) * (o + 1) for i, o in enumerate(answers)) * 3 % 8
    costs, sums = _steps((6 + shift, 14 - shift, 1), order)
    if len(answers) == ROUNDS or left < max(costs):
        return 1.0
    after = [
        _worst((*answers, o), left - cost, order, charged) * (np.exp((1 - order) * cost) if charged else 1)
        for o, cost in enumerate(costs)
    ]
    return max(float(np.dot(parts, after)) for parts in sums)


@pytest.mark.parametrize("order", [2.0, 18.0])
def test_a_filter_keeps_its_limit_over_adaptive_queries(order: float) -> None:
    """All outcomes summed, no sampling: neighbours move any vote of any query, knowing the answers."""
    limit = LIMIT * max(_steps((6, 14, 1), order)[0])
    assert _worst((), limit, order, charged=True) <= 1 + 1e-10
    assert 1 < _worst((), limit, order, charged=False) <= np.exp((order - 1) * limit)


def test_the_largest_charges_of_two_queries_are_their_own() -> None:
    votes = [(30, 15, 5), (20, 20, 10)]
    together = confident_charges(votes, 25, *SIGMAS, [2.0, 18.0])
    for i, row in enumerate(votes):
        alone = confident_charges([row], 25, *SIGMAS, [2.0, 18.0])
        np.testing.assert_allclose(together.labels[i], alone.labels[0], rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(together.largest()[i], alone.largest()[0], rtol=1e-6)
