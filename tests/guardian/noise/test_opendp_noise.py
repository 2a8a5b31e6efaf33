"""The production samplers against the laws' own probabilities and an independent sampler.

A sampler draws once for all tests of a scale: none of them changes what was drawn.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from ostraka.guardian.noise import LATTICE, lattice_scale
from ostraka.guardian.noise.opendp_noise import OpenDpNoise
from tests.guardian.noise.laws import Cdf, P, fits, gaussian_cdf, laplace_cdf, tail_fits
from tests.guardian.noise.reference import discrete_gaussian, discrete_laplace

DRAWS, SLOW_DRAWS = 30_000, 2_000
SCALES = pytest.mark.parametrize("steps", [1.0, 40.0, 40.0 * 2**16])


@cache
def opendp_gaussian(steps: float) -> NDArray[np.int64]:
    return OpenDpNoise().gaussian(steps * LATTICE, (DRAWS,))


@cache
def opendp_laplace(steps: float) -> NDArray[np.int64]:
    return OpenDpNoise().laplace(steps * LATTICE, (DRAWS,))


@cache
def reference_gaussian(steps: float) -> NDArray[np.int64]:
    return np.array([discrete_gaussian(Fraction(steps)) for _ in range(SLOW_DRAWS)])


@cache
def reference_laplace(steps: float) -> NDArray[np.int64]:
    return np.array([discrete_laplace(round(steps)) for _ in range(SLOW_DRAWS)])


class Law(NamedTuple):
    cdf: Callable[[NDArray[np.float64], float], Cdf]
    quantile: Callable[[NDArray[np.float64]], NDArray[np.float64]]


GAUSSIAN, LAPLACE = Law(gaussian_cdf, stats.norm.ppf), Law(laplace_cdf, stats.laplace.ppf)
SAMPLERS = pytest.mark.parametrize(
    ("sampler", "law"),
    [
        (opendp_gaussian, GAUSSIAN),
        (reference_gaussian, GAUSSIAN),
        (opendp_laplace, LAPLACE),
        (reference_laplace, LAPLACE),
    ],
)
Sampler = Callable[[float], NDArray[np.int64]]


def edges(law: Law, steps: float) -> NDArray[np.float64]:
    """Return the ends of twenty cells of about equal probability."""
    return np.unique(np.round(law.quantile(np.arange(1, 20) / 20) * steps))


@pytest.mark.heavy
@SAMPLERS
@SCALES
def test_chi_square(sampler: Sampler, law: Law, steps: float) -> None:
    ends = edges(law, steps)
    assert fits(sampler(steps), ends, law.cdf(ends, steps))


@pytest.mark.heavy
@SAMPLERS
@SCALES
@pytest.mark.parametrize("deviations", [2, 3, 4])
def test_tails(sampler: Sampler, law: Law, steps: float, deviations: int) -> None:
    far = math.floor(deviations * steps)
    assert tail_fits(sampler(steps), far, law.cdf(np.array([-float(far)]), steps)[0])


def narrower(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.round(0.85 * drawn).astype(np.int64)


def shifted(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    return drawn + int(drawn.std()) // 8


def without_tails(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    limit = int(2 * drawn.std())
    return np.clip(drawn, -limit, limit)


@pytest.mark.parametrize(("sampler", "law"), [(opendp_gaussian, GAUSSIAN), (opendp_laplace, LAPLACE)])
@pytest.mark.parametrize("steps", [40.0, 40.0 * 2**16])
@pytest.mark.parametrize("fault", [narrower, shifted, without_tails])
def test_a_sampler_that_was_tampered_with_is_found(
    sampler: Sampler, law: Law, steps: float, fault: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> None:
    drawn = fault(sampler(steps))
    ends, far = edges(law, steps), math.floor(3 * steps)
    in_tail = law.cdf(np.array([-float(far)]), steps)[0]
    assert not (fits(drawn, ends, law.cdf(ends, steps)) and tail_fits(drawn, far, in_tail))


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("one", "other"), [(opendp_gaussian, reference_gaussian), (opendp_laplace, reference_laplace)]
)
def test_the_two_samplers_agree(one: Sampler, other: Sampler) -> None:
    assert stats.ks_2samp(one(1e4), other(1e4), method="asymp").pvalue > P


@pytest.mark.parametrize("shape", [(3, 4), (5,), (0, 4), ()])
def test_shapes(shape: tuple[int, ...]) -> None:
    noise = OpenDpNoise()
    for drawn in (noise.gaussian(40, shape), noise.laplace(40, shape)):
        assert drawn.shape == shape
        assert drawn.dtype == np.int64
    assert noise.uniform(shape).shape == shape
    assert noise.uniform(shape).dtype == np.uint64


def test_every_draw_is_its_own() -> None:
    noise = OpenDpNoise()
    for draw in (noise.gaussian, noise.laplace):
        assert len(np.unique(np.concatenate([draw(40, (500,)) for _ in range(2)]))) > 980
    assert len(np.unique(noise.uniform((1000,)))) == 1000


def test_uniform_bits_are_balanced() -> None:
    bits = np.unpackbits(OpenDpNoise().uniform((4000,)).view(np.uint8))
    assert stats.binomtest(int(bits.sum()), len(bits)).pvalue > P


def test_draws_beyond_64_bits_are_their_ends() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    for draw in (OpenDpNoise().gaussian, OpenDpNoise().laplace):
        np.testing.assert_array_equal(np.unique(draw(1e40, (100,))), ends)


def test_the_scale_is_the_exact_multiple_of_the_lattice() -> None:
    assert Fraction(lattice_scale(0.1)) == Fraction(0.1) * 2**16


@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf])
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    noise = OpenDpNoise()
    for refused in (noise.gaussian, noise.laplace):
        with pytest.raises(ValueError, match="must be a finite number above 0"):
            refused(scale, (2,))
