"""OpenDP's samplers as a source of noise, on our lattice."""

import math

import numpy as np
import pytest

from ostraka.guardian.noise import LATTICE
from ostraka.guardian.noise.opendp_noise import OpenDpNoise
from tests.common.noise.laws import GAUSSIAN, LAPLACE, fits, tail_fits

DRAWS = 4_000


@pytest.mark.parametrize("steps", [1.0, 40.0, 40.0 * 2**16])
def test_draws_have_their_law(steps: float) -> None:
    noise = OpenDpNoise()
    for draw, law in ((noise.gaussian, GAUSSIAN), (noise.laplace, LAPLACE)):
        drawn = draw(steps * LATTICE, (DRAWS,))
        assert fits(drawn, law, steps)
        assert tail_fits(drawn, law, steps, 3)


@pytest.mark.parametrize("shape", [(3, 4), (5,), (0, 4), ()])
def test_shapes(shape: tuple[int, ...]) -> None:
    noise = OpenDpNoise()
    for drawn in (noise.gaussian(40, shape), noise.laplace(40, shape)):
        assert drawn.shape == shape
        assert drawn.dtype == np.int64
    assert noise.uniform(shape).shape == shape
    assert noise.uniform(shape).dtype == np.uint64


def test_draws_beyond_64_bits_are_their_ends() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    for draw in (OpenDpNoise().gaussian, OpenDpNoise().laplace):
        np.testing.assert_array_equal(np.unique(draw(1e40, (100,))), ends)


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    noise = OpenDpNoise()
    for refused in (noise.gaussian, noise.laplace):
        with pytest.raises(ValueError, match="must be a finite number above 0"):
            refused(scale, (2,))
