"""Interactive GNMax: Confident where the student says nothing, and the promise of its own check."""

from typing import Any

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS, Influence
from ostraka.guardian.accounting import InputError, confident_rdp
from ostraka.guardian.accounting.bounds.confident_rdp import reservation
from ostraka.guardian.accounting.bounds.interactive_rdp import interactive_rdp
from tests.guardian.accounting import oracle

AT = np.array(ORDERS)[::12]
SOME = np.array([1.5, 8.0, 64.0])
VOTES = [[30, 15, 5], [20, 18, 12], [50, 0, 0]]
SCORES = [[0.25, 0.5, 0.25], [0.125, 0.125, 0.75], [0.875, 0.125, 0.0]]
BOUNDS = ["worst_case", "theorem6", "exact"]
histograms = st.lists(st.integers(0, 30), min_size=3, max_size=3).filter(any)
beliefs = st.lists(st.integers(0, 2**16), min_size=3, max_size=3).map(lambda p: [x / 2**16 for x in p])


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("belief", [0.0, 0.25, 1.0])
def test_a_student_that_believes_alike_in_all_classes_only_moves_the_threshold(
    bound: Any, belief: float
) -> None:
    answered = [True, False, True]
    rdp = interactive_rdp(VOTES, np.full((3, 3), belief), 5, 9, 4, AT, answered, bound=bound)
    confident = confident_rdp(VOTES, 5 + 50 * belief, 9, 4, AT, answered, bound=bound)
    np.testing.assert_allclose(rdp, confident, rtol=1e-9, atol=1e-290)


def check(votes: list[int], scores: list[float], threshold: float, sigma: float) -> list[Any]:
    n = sum(votes)
    largest = max(mp.mpf(v) - n * mp.mpf(p) for v, p in zip(votes, scores, strict=True))
    z = (largest - threshold) / mp.mpf(sigma)
    return [oracle.upper_tail(-z), oracle.upper_tail(z)]


@pytest.mark.parametrize(("votes", "scores"), zip(VOTES, SCORES, strict=True))
def test_both_outcomes_charges_keep_the_promise_for_every_neighbour(
    votes: list[int], scores: list[float]
) -> None:
    """The expectation of exp((a - 1) (loss - charge)) is at most 1, and 1 for some neighbour."""
    rows = interactive_rdp([votes] * 2, [scores] * 2, 8, 9, 4, SOME, [True, False])
    here = check(votes, scores, 8, 9), oracle.argmax_probabilities(votes, 4)
    tightest = np.zeros(len(SOME))
    for a, b in [(a, b) for a in range(3) for b in range(3) if a != b]:
        moved = list(votes)
        moved[a] -= 1
        moved[b] += 1
        there = check(moved, scores, 8, 9), oracle.argmax_probabilities(moved, 4)
        for i, order in enumerate(SOME):
            for p, r in ((here, there), (there, here)):
                argmax = mp.exp((order - 1) * oracle.small_divergence(p[1], r[1], order))
                passed, failed = (x**order * y ** (1 - order) for x, y in zip(p[0], r[0], strict=True))
                kept = passed * argmax * mp.exp((1 - order) * rows[0, i])
                kept += failed * mp.exp((1 - order) * rows[1, i])
                assert kept <= 1 + 1e-9
                tightest[i] = max(tightest[i], kept)
    most = reservation(1, len(votes), (9, 4), SOME, 1.0, 0.0).passed[0]
    assert ((tightest > 1 - 1e-9) | (rows[0] >= most * (1 - 1e-9))).all()


@pytest.mark.heavy
@given(histograms, beliefs, st.floats(2, 40), st.sampled_from([0.0, 2.0**-16]))
@settings(deadline=None, max_examples=25)
def test_never_above_the_worst_case(
    votes: list[int], scores: list[float], sigma: float, lattice: float
) -> None:
    given_ = ([votes] * 2, [scores] * 2, 10, 2 * sigma, sigma, AT, [True, False])
    worst = interactive_rdp(*given_, bound="worst_case")
    np.testing.assert_allclose(worst[1], AT / (8 * sigma**2))
    np.testing.assert_allclose(worst[0], AT / (8 * sigma**2) + AT / sigma**2)
    for bound in ("theorem6", "exact"):
        rdp = interactive_rdp(*given_, bound=bound, lattice=lattice)
        assert ((rdp >= 0) & (rdp <= worst * (1 + 1e-12))).all()


@pytest.mark.heavy
@given(st.permutations([0, 1, 2, 3]))
@settings(deadline=None, max_examples=10)
def test_classes_may_be_reordered(order: list[int]) -> None:
    votes, scores = np.array([[30, 12, 8, 0]]), np.array([[0.5, 0.1, 0.3, 0.1]])
    rdp = interactive_rdp(votes[:, order], scores[:, order], 8, 9, 4, AT, [True])
    expected = interactive_rdp(votes, scores, 8, 9, 4, AT, [True])
    np.testing.assert_allclose(rdp, expected, rtol=1e-9)


@pytest.mark.parametrize("bound", BOUNDS)
def test_votes_and_noise_scale_together(bound: Any) -> None:
    whole = interactive_rdp(VOTES, SCORES, 8, 9, 4, AT, [True, False, True], bound=bound)
    half = interactive_rdp(
        np.array(VOTES) / 2,
        SCORES,
        4,
        4.5,
        2,
        AT,
        [True, False, True],
        bound=bound,
        influence=Influence(weight=0.5),
    )
    np.testing.assert_allclose(half, whole, rtol=1e-9)


def test_a_student_that_already_agrees_makes_the_check_cheap() -> None:
    agrees = interactive_rdp([[50, 0, 0]], [[1, 0, 0]], 40, 5, 4, 8.0, [False])[0, 0]
    differs = interactive_rdp([[50, 0, 0]], [[0.125, 0.875, 0]], 40, 5, 4, 8.0, [False])[0, 0]
    assert agrees < 1e-3 * differs


@pytest.mark.parametrize(
    ("votes", "scores", "lattice", "argument", "index"),
    [
        (VOTES, SCORES[:2], 0.0, "scores", ()),
        ([[1, 2]], [[0.5, 1.5]], 0.0, "scores", (0, 1)),
        ([[1, 2]], [[np.nan, 0.5]], 0.0, "scores", (0, 0)),
        ([[1, 2]], [[-0.5, 0.5]], 0.0, "scores", (0, 0)),
        ([[1, 2]], [[0.1, 0.5]], 2.0**-16, "scores", (0, 0)),
        ([[1, -1]], [[0.5, 0.5]], 0.0, "votes", (0, 1)),
    ],
)
def test_bad_input(votes: Any, scores: Any, lattice: float, argument: str, index: tuple[int, ...]) -> None:
    with pytest.raises(InputError) as refusal:
        interactive_rdp(votes, scores, 1, 1, 1, [2], [True] * len(votes), lattice=lattice)
    assert (refusal.value.argument, refusal.value.index) == (argument, index)
