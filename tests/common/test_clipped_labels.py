"""The worst case of what one clipped ballot moves: no moves exceed it, and it is below the Gaussian's."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.clipped_labels import clipped_labels_rdp
from common.two_outcomes import two_outcomes_rdp

orders = st.sampled_from([1.01, 2.0, 8.0, 64.0, 1024.0])
shifts = st.sampled_from([1e-4, 0.05, 0.3, 2.0])


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
