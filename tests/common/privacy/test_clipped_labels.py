"""The worst case of what one clipped ballot moves: no moves exceed it, and it is below the Gaussian's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy.two_outcomes import clipped_labels_rdp, two_outcomes_rdp
from tests.common.privacy.test_two_outcomes import divergence

orders = st.sampled_from([1.01, 2.0, 8.0, 64.0, 1024.0])
shifts = st.sampled_from([1e-4, 0.05, 0.3, 2.0])


@pytest.mark.heavy
@given(orders, shifts, st.floats(0.1, 8), st.integers(1, 8), st.sampled_from([0.0, 1e-6]), st.randoms())
@settings(deadline=None, max_examples=40)
def test_no_moves_exceed_it(
    order: float, shift: float, budget: float, labels: int, lattice: float, random: object
) -> None:
    squares = budget * shift**2
    bound = clipped_labels_rdp(order, labels, shift, squares, lattice=lattice)
    rng = np.random.default_rng(random.getrandbits(32))  # type: ignore[attr-defined]
    for _ in range(5):
        moves = np.abs(rng.normal(size=labels)) ** rng.choice([0.1, 1, 5])
        moves = np.minimum(moves * math.sqrt(squares) / np.linalg.norm(moves), shift)
        assert sum(two_outcomes_rdp(order, x) for x in moves.tolist()) <= bound * (1 + 2e-6)


@given(orders, shifts, st.floats(0, 8), st.integers(1, 8), st.sampled_from([0.0, 1e-6, 1e-3]))
@settings(deadline=None, max_examples=60)
def test_it_never_exceeds_the_gaussian_mechanism_nor_all_labels(
    order: float, shift: float, budget: float, labels: int, lattice: float
) -> None:
    squares = budget * shift**2
    bound = clipped_labels_rdp(order, labels, shift, squares, lattice=lattice)
    assert bound <= order * squares / 2
    assert bound <= labels * two_outcomes_rdp(order, shift, lattice=lattice)


@pytest.mark.parametrize(("order", "gain"), [(2.0, 1.55), (8.0, 1.55), (32.0, 1.42)])
def test_how_far_it_lies_below_the_gaussian_mechanism(order: float, gain: float) -> None:
    shift = math.sqrt(2) / 20
    bound = clipped_labels_rdp(order, 14, shift, 8 * shift**2, lattice=2.0**-16 / 20)
    assert order * 8 * shift**2 / 2 / bound == pytest.approx(gain, abs=0.01)


def steepest(order: float, shift: float) -> float:
    """Return the bound of F(x)/x^2 up to `shift`: what so many labels cost that only the squares count."""
    return clipped_labels_rdp(order, 10**12, shift, 1.0)


FORMER = {
    (1.5, 1e-4): 0.48135233263589916,
    (1.5, 0.01): 0.4819257135453139,
    (1.5, 0.0707): 0.48195430554197843,
    (1.5, 0.3): 0.48245315732630606,
    (1.5, 2.0): 0.5107317537951898,
    (8.0, 1e-4): 2.567138277881088,
    (8.0, 0.0707): 2.5814516468781816,
    (8.0, 0.3): 2.8169182032926585,
    (8.0, 2.0): 3.9297853414524275,
    (64.0, 1e-4): 20.536909629468557,
    (64.0, 0.01): 20.69160919419438,
    (64.0, 0.0707): 27.374759515829773,
    (64.0, 0.3): 31.714372322712478,
    (1024.0, 1e-4): 329.0471422160381,
    (1024.0, 0.01): 491.98363644825423,
    (1024.0, 0.3): 512.0,
}
"""What cells bounded by their slope alone gave, halved until 1e-3 of the largest divergence was left."""


@pytest.mark.parametrize(("order", "shift"), FORMER)
def test_it_is_what_finer_cells_gave(order: float, shift: float) -> None:
    assert steepest(order, shift) == pytest.approx(FORMER[order, shift], rel=1e-3)


@pytest.mark.parametrize("order", [1.01, 8.0, 64.0, 1024.0])
@pytest.mark.parametrize("shift", [1e-3, 0.05, 0.3])
def test_no_move_costs_more_for_its_square(order: float, shift: float) -> None:
    bound = steepest(order, shift)
    for move in np.geomspace(1e-6, shift, 8).tolist():
        around = [(order - 1) * move * part for part in (-0.1, 0, 0.5, 0.9, 1)]
        assert max(divergence(order, g - move / 2, move) for g in around) / move**2 <= bound


def test_without_a_limit_on_squares_every_label_may_move() -> None:
    assert clipped_labels_rdp(8.0, 5, 0.1, math.inf) == 5 * two_outcomes_rdp(8.0, 0.1)
    assert clipped_labels_rdp(8.0, 5, 0.0, math.inf) == 0
    assert clipped_labels_rdp(8.0, 5, 0.1, 100.0) == 5 * two_outcomes_rdp(8.0, 0.1)


@pytest.mark.parametrize(
    ("labels", "squares", "named"), [(-1, 1.0, "labels"), (2, -1.0, "squares"), (2, math.nan, "squares")]
)
def test_malformed_arguments_are_named(labels: int, squares: float, named: str) -> None:
    with pytest.raises(ValueError, match=rf"^{named}: "):
        clipped_labels_rdp(2.0, labels, 0.1, squares)
