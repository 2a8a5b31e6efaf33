"""The production sampler against the discrete Gaussian's own probabilities and an independent sampler.

Statistical assertions fail with a probability below 1e-9 where the sampler is right.
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from guardian.noise import LATTICE, OpenDpNoise, lattice_scale
from tests.guardian.noise.reference import discrete_gaussian

P = 1e-9
Sampler = Callable[[float, int], NDArray[np.int64]]


def opendp(steps: float, draws: int) -> NDArray[np.int64]:
    return OpenDpNoise().gaussian(steps * LATTICE, (draws,))


def reference(steps: float, draws: int) -> NDArray[np.int64]:
    return np.array([discrete_gaussian(Fraction(steps)) for _ in range(draws)])


SAMPLERS = pytest.mark.parametrize(("sampler", "draws"), [(opendp, 40_000), (reference, 2_000)])


@SAMPLERS
@pytest.mark.parametrize("steps", [1.0, 40.0, 40.0 * 2**16])
def test_chi_square(sampler: Sampler, draws: int, steps: float) -> None:
    """Twenty cells of about equal probability, from exact sums or, on wide scales, the continuous law.

    At 40 * 2^16 steps the two differ by less than 1e-7 a cell, which no sample of this size can see.
    """
    drawn = sampler(steps, draws)
    edges = np.unique(np.round(stats.norm.ppf(np.arange(1, 20) / 20) * steps))
    observed = np.bincount(np.searchsorted(edges, drawn), minlength=len(edges) + 1)
    expected = np.diff(_cdf(edges, steps), prepend=0.0, append=1.0) * draws
    assert stats.chisquare(observed, expected).pvalue > P


@SAMPLERS
@pytest.mark.parametrize("steps", [1.0, 40.0, 40.0 * 2**16])
def test_tails(sampler: Sampler, draws: int, steps: float) -> None:
    drawn = np.abs(sampler(steps, draws))
    for deviations in (2, 3):
        far = math.floor(deviations * steps)
        tail = 2 * _cdf(np.array([-far]), steps)[0]
        assert stats.binomtest(int((drawn >= far).sum()), draws, tail).pvalue > P


def test_the_two_samplers_agree() -> None:
    assert stats.ks_2samp(opendp(1e4, 20_000), reference(1e4, 2_000)).pvalue > P


@pytest.mark.parametrize("shape", [(3, 4), (5,), (0, 4), ()])
def test_shapes(shape: tuple[int, ...]) -> None:
    noise = OpenDpNoise()
    assert noise.gaussian(40, shape).shape == shape
    assert noise.gaussian(40, shape).dtype == np.int64
    assert noise.uniform(shape).shape == shape
    assert noise.uniform(shape).dtype == np.uint64


def test_every_draw_is_its_own() -> None:
    noise = OpenDpNoise()
    drawn = np.concatenate([noise.gaussian(40, (500,)) for _ in range(2)])
    assert len(np.unique(drawn)) > 990
    assert len(np.unique(noise.uniform((1000,)))) == 1000


def test_uniform_bits_are_balanced() -> None:
    bits = np.unpackbits(OpenDpNoise().uniform((4000,)).view(np.uint8))
    assert stats.binomtest(int(bits.sum()), len(bits)).pvalue > P


def test_the_scale_is_the_exact_multiple_of_the_lattice() -> None:
    assert Fraction(lattice_scale(0.1)) == Fraction(0.1) * 2**16


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, math.inf])
def test_a_sigma_that_is_none_is_refused(sigma: float) -> None:
    with pytest.raises(ValueError, match="sigma"):
        OpenDpNoise().gaussian(sigma, (2,))


def _cdf(at: NDArray[np.float64], steps: float) -> NDArray[np.float64]:
    """P(X <= x) of the discrete Gaussian; exact sums to 20 deviations, else with half-step continuity."""
    if steps > 1000:
        return np.asarray(stats.norm.cdf((at + 0.5) / steps))
    support = np.arange(-math.ceil(20 * steps), math.ceil(20 * steps) + 1)
    weights = np.exp(-(support**2) / (2 * steps**2))
    below = np.cumsum(weights / weights.sum())
    return np.asarray(below[np.searchsorted(support, at)])
