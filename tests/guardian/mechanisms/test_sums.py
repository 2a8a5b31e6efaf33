"""Sums of updates: as they are, or with the noise that was drawn, whatever the sums carry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.mechanism import DpTtac, Recipe, Ttac
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import release, release_sums
from ostraka.guardian.noise import ExactNoise

RING = Ring(64)
RECIPE = Recipe(model="mlp", parameters=5, steps=1, batch_size=1, learning_rate=0.1)
TTAC, DP = Ttac(recipe=RECIPE), DpTtac(recipe=RECIPE, radius=1.0, sigma=0.5)
BOTH = pytest.mark.parametrize("mechanism", [TTAC, DP], ids=lambda mechanism: mechanism.kind)
SUMS = st.lists(st.integers(-(2**62), 2**62), min_size=5, max_size=5)


class Given(ExactNoise):
    """Draws the same numbers every time."""

    drawn = np.array([[3, -4, 0, 2**40, -(2**40)]])

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        assert (sigma, shape) == (DP.sigma, self.drawn.shape)
        return self.drawn


@given(SUMS)
def test_a_sum_leaves_as_it_is_or_with_its_noise(values: list[int]) -> None:
    sums = RING.wrap(np.array([values]))
    np.testing.assert_array_equal(release_sums(sums, TTAC, Given(), RING), [values])
    np.testing.assert_array_equal(release_sums(sums, DP, Given(), RING), np.array([values]) + Given.drawn)


@given(SUMS, st.integers(0, 2**64 - 1))
def test_an_offset_moves_a_release_by_itself_and_nothing_else(values: list[int], offset: int) -> None:
    """So the noise hides as much of a sum that leaves the ring as of any other."""
    sums = RING.wrap(np.array([values]))
    plain = release_sums(sums, DP, Given(), RING)
    moved = release_sums(sums + np.uint64(offset), DP, Given(), RING)
    np.testing.assert_array_equal(RING.wrap(moved) - RING.wrap(plain), np.full((1, 5), offset, np.uint64))


@BOTH
def test_updates_are_no_answers_and_no_votes(mechanism: Ttac | DpTtac) -> None:
    sums = np.zeros((1, 5), dtype=np.uint64)
    totals = np.zeros(1, dtype=np.int64)
    with pytest.raises(ValueError, match="releases no answers"):
        release(sums, mechanism, Given(), RING, classes=2, totals=totals)
    with pytest.raises(ValueError, match="count no votes"):
        mechanism.ballot.count(np.zeros((1, 1), dtype=np.int64), 2)
