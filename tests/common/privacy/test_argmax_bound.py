"""The worst case of an argmax: against histograms, many-digit arithmetic, lattices, ties and rings."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.argmax import FARTHEST, argmax_bound, argmax_rdp, farthest
from ostraka.common.privacy.two_outcomes import two_outcomes_rdp
from ostraka.common.sharing.ring import Ring
from tests.common.noisy_argmax import (
    Floats,
    both,
    discrete,
    divergence,
    exact,
    lattice_outcomes,
    moved_votes,
    ordered_outcomes,
)


@given(moved_votes(), st.sampled_from([2.0, 32.0]))
@settings(deadline=None, max_examples=10)
def test_no_histogram_exceeds_it(moved: tuple[Floats, Floats, float], order: float) -> None:
    counts, move, shift = moved
    assert both(order, counts, move) <= argmax_bound(order, shift)


@given(moved_votes(), st.sampled_from([2.0, 32.0]), st.booleans())
@settings(deadline=None, max_examples=10)
def test_one_count_that_moves_costs_two_outcomes(
    moved: tuple[Floats, Floats, float], order: float, falls: bool
) -> None:
    counts, _, shift = moved
    move = np.where(np.arange(len(counts)) == 0, -shift if falls else shift, 0.0)
    assert both(order, counts, move) <= two_outcomes_rdp(order, shift)


@given(moved_votes(), st.sampled_from([2.0, 32.0]), st.tuples(st.floats(-1, 1), st.floats(-1, 1)))
@settings(deadline=None, max_examples=10)
def test_counts_that_a_fold_moves_in_any_directions_cost_no_more(
    moved: tuple[Floats, Floats, float], order: float, parts: tuple[float, float]
) -> None:
    """Where a sum lies at an end of the fold, both counts may rise, or less than by a vote."""
    counts, _, shift = moved
    for first, second in (parts, (1.0, 1.0), (-1.0, -1.0)):
        move = np.zeros(len(counts))
        move[:2] = first * shift, second * shift
        assert both(order, counts, move) <= argmax_bound(order, shift)


@pytest.mark.heavy
@given(moved_votes(), st.sampled_from([1.5, 2.0, 2.7, 3.0, 8.0, 32.0, 64.0, 200.0, 256.0]))
@settings(deadline=None, max_examples=150)
def test_no_histogram_of_many_exceeds_it(moved: tuple[Floats, Floats, float], order: float) -> None:
    counts, move, shift = moved
    assert both(order, counts, move) <= argmax_bound(order, shift)


@pytest.mark.parametrize(("order", "shift"), [(8.0, 0.05), (2.0, 0.3)])
def test_two_classes_come_within_a_percent(order: float, shift: float) -> None:
    gaps = np.linspace(-1, 1, 41) + (order - 1) * shift / 3
    found = max(both(order, np.array([0.0, gap]), np.array([-shift, shift])) for gap in gaps)
    assert found <= argmax_bound(order, shift) <= 1.011 * found


@pytest.mark.parametrize(
    ("order", "a", "b", "shift"),
    [(2.0, 0.747, 0.732, 0.02), (8.0, 0.948, 0.55, 0.05), (32.0, 0.832, 0.65, 0.005)],
)
def test_many_digits_of_three_outcomes_lie_within_a_percent(
    order: float, a: float, b: float, shift: float
) -> None:
    value = exact(order, a, b, shift)
    assert 1.004 * two_outcomes_rdp(order, math.sqrt(2) * shift) < value
    assert value <= argmax_bound(order, shift) <= 1.01 * value


@pytest.mark.parametrize("order", [1.5, 2.3, 3.0, 16.0, 64.0, 777.0, 1024.0])
def test_it_grows_with_the_shift_and_is_never_above_the_gaussian_mechanism(order: float) -> None:
    shifts = np.geomspace(1e-9, 50, 60).tolist()
    bounds = [argmax_bound(order, shift) for shift in shifts]
    assert all(low < high for low, high in itertools.pairwise(bounds))
    assert all(bound <= order * shift**2 for shift, bound in zip(shifts, bounds, strict=True))
    assert argmax_bound(order, 0.0) == 0


@pytest.mark.parametrize("order", [1.2, 1025.0, 5000.0])
def test_orders_beyond_the_proof_cost_the_gaussian_mechanism(order: float) -> None:
    assert argmax_bound(order, 0.01) == order * 0.01**2


@given(st.floats(1.5, 1024), st.floats(1e-4, 1.0))
@settings(max_examples=40)
def test_orders_between_those_of_the_proof_lie_between_their_costs(order: float, shift: float) -> None:
    below = max(known for known in ORDERS if known <= order)
    above = min(known for known in ORDERS if known >= order)
    found = (order - 1) * argmax_bound(order, shift)
    low, high = ((known - 1) * argmax_bound(known, shift) for known in (below, above))
    assert low * (1 - 1e-12) <= found <= high * (1 + 1e-12)


@pytest.mark.parametrize("outcomes", [lattice_outcomes, ordered_outcomes], ids=["shared", "first"])
@pytest.mark.parametrize("order", [1.5, 4.0, 32.0])
@pytest.mark.parametrize("moved", [20, 400])
def test_it_covers_lattices_however_ties_are_broken(outcomes: object, order: float, moved: int) -> None:
    assert callable(outcomes)
    steps = 2000.0
    noise, shift = discrete(steps, 16_000), moved / steps
    bound = argmax_bound(order, shift, lattice=1 / steps)
    for a, b in itertools.product((-2000, 0, 1001, 1500, 9000), repeat=2):
        p, q = outcomes(noise, a, b), outcomes(noise, a + moved, b - moved)
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert max(divergence(order, np.log(x), np.log(y)) for x, y in ((p, q), (q, p))) <= bound


def test_a_lattice_costs_little_and_a_coarse_one_the_gaussian_mechanism() -> None:
    fine, continuous = (argmax_bound(8.0, 1 / 40, lattice=step) for step in (2**-16 / 40, 0.0))
    assert continuous < fine <= continuous * 1.01
    assert argmax_bound(8.0, 0.1, lattice=0.01) == 8 * 0.1**2
    assert argmax_rdp(8.0, 1.0, 40.0, 10) <= 0.66 * 8 / 40**2


@given(st.sampled_from([32, 64]), st.integers(0, 2**64 - 1), st.integers(-(2**20), 2**20))
def test_a_fold_moves_a_sum_by_no_more_than_what_is_added(bits: int, value: int, added: int) -> None:
    ring = Ring(bits)
    sums = np.array([value % 2**bits, (value + added) % 2**bits], dtype=ring.dtype)
    before, after = ring.lift(ring.fold(sums)).tolist()
    assert abs(after - before) <= abs(added)
    assert -(2 ** (bits - 2)) <= before < 2 ** (bits - 2)


@pytest.mark.parametrize("bits", [32, 64])
def test_a_fold_leaves_honest_sums_and_their_neighbours_as_they_are(bits: int) -> None:
    ring = Ring(bits)
    sums = np.array([0, 1, 2**20, 2 ** (bits - 2) - 1, -1, -(2**20), -(2 ** (bits - 2))])
    assert ring.lift(ring.fold(ring.wrap(sums))).tolist() == sums.tolist()


def test_more_counts_than_the_proof_covers_cost_the_gaussian_mechanism() -> None:
    assert argmax_bound(8.0, 0.1, lattice=1e-6, width=2**20) < 8 * 0.1**2
    for width in (2**20 + 1, 2**2000):
        assert argmax_bound(8.0, 0.1, lattice=1e-6, width=width) == 8 * 0.1**2


def test_what_the_proof_needs_of_the_noise_fits_what_the_ring_keeps_free() -> None:
    assert farthest(32.0, 0.0) == 33
    shift = 0.15
    assert farthest(32.0, shift) < FARTHEST < farthest(32.0, 2 * shift)
    assert argmax_bound(32.0, 2 * shift) == 32 * (2 * shift) ** 2


@pytest.mark.parametrize(
    ("order", "shift", "lattice", "named"),
    [
        (1.0, 1.0, 0.0, "order"),
        (math.nan, 1.0, 0.0, "order"),
        (2.0, -1.0, 0.0, "shift"),
        (2.0, math.inf, 0.0, "shift"),
        (2.0, 1.0, -1.0, "lattice"),
        (2.0, 1.0, math.nan, "lattice"),
    ],
)
def test_malformed_arguments_are_named(order: float, shift: float, lattice: float, named: str) -> None:
    with pytest.raises(ValueError, match=f"^{named}: "):
        argmax_bound(order, shift, lattice=lattice)
