"""Our own samplers against the laws' probabilities, an independent sampler and OpenDP; far out, and in time.

A sampler draws once for all tests of a scale: none of them changes what was drawn.
"""

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from types import FrameType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.noise import LATTICE, ExactNoise, bernoulli, exact_noise
from ostraka.common.noise.exact_noise import MAX_SCALE, MIN_SCALE
from tests.common.noise.bytes_given import Stages, fixed
from tests.common.noise.laws import GAUSSIAN, LAPLACE, Law, P, alike, fits, tail_fits
from tests.common.noise.reference import discrete_gaussian, discrete_laplace

DRAWS, SLOW_DRAWS = 100_000, 2_000
SCALES = pytest.mark.parametrize("steps", [0.3, 1.0, 2.5, 16.0, 40.0, 45.5 * 2**16, 1e6 * 2**16])
"""In lattice steps; 16 of them are 2^-12 votes."""
BOUND = 2**63 - 1
Sampler = Callable[[float], NDArray[np.int64]]


@cache
def gaussian(steps: float) -> NDArray[np.int64]:
    return ExactNoise().gaussian(steps * LATTICE, (DRAWS,))


@cache
def laplace(steps: float) -> NDArray[np.int64]:
    return ExactNoise().laplace(steps * LATTICE, (DRAWS,))


@cache
def reference_gaussian(steps: float) -> NDArray[np.int64]:
    return np.array([discrete_gaussian(Fraction(steps)) for _ in range(SLOW_DRAWS)])


@cache
def reference_laplace(steps: float) -> NDArray[np.int64]:
    return np.array([discrete_laplace(round(steps)) for _ in range(SLOW_DRAWS)])


SAMPLERS = pytest.mark.parametrize(("sampler", "law"), [(gaussian, GAUSSIAN), (laplace, LAPLACE)])


@SAMPLERS
@SCALES
def test_draws_have_their_law(sampler: Sampler, law: Law, steps: float) -> None:
    drawn = sampler(steps)
    assert fits(drawn, law, steps)
    assert all(tail_fits(drawn, law, steps, deviations) for deviations in (2, 3, 4))


@SAMPLERS
def test_wide_draws_have_the_continuous_law(sampler: Sampler, law: Law) -> None:
    assert stats.kstest(sampler(1e6 * 2**16) / (1e6 * 2**16), law.continuous.cdf).pvalue > P


@pytest.mark.heavy
@pytest.mark.parametrize(("sampler", "law"), [(reference_gaussian, GAUSSIAN), (reference_laplace, LAPLACE)])
@pytest.mark.parametrize("steps", [1.0, 40.0, 40.0 * 2**16])
def test_the_reference_has_the_law(sampler: Sampler, law: Law, steps: float) -> None:
    drawn = sampler(steps)
    assert fits(drawn, law, steps)
    assert all(tail_fits(drawn, law, steps, deviations) for deviations in (2, 3, 4))


@pytest.mark.heavy
@pytest.mark.parametrize(("one", "other"), [(gaussian, reference_gaussian), (laplace, reference_laplace)])
def test_it_draws_as_the_reference_does(one: Sampler, other: Sampler) -> None:
    assert alike(one(1e4), other(1e4))


@pytest.mark.parametrize("steps", [2.5, 40.0 * 2**16])
def test_it_draws_as_opendp_does(steps: float) -> None:
    from ostraka.guardian.noise.opendp_noise import OpenDpNoise

    opendp = OpenDpNoise()
    assert alike(gaussian(steps), opendp.gaussian(steps * LATTICE, (3000,)))
    assert alike(laplace(steps), opendp.laplace(steps * LATTICE, (3000,)))


def narrower(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.round(0.85 * drawn).astype(np.int64)


def shifted(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    return drawn + int(drawn.std()) // 8


def without_tails(drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    limit = int(2 * drawn.std())
    return np.clip(drawn, -limit, limit)


@SAMPLERS
@pytest.mark.parametrize("steps", [40.0, 45.5 * 2**16])
@pytest.mark.parametrize("fault", [narrower, shifted, without_tails])
def test_a_sampler_that_was_tampered_with_is_found(
    sampler: Sampler, law: Law, steps: float, fault: Callable[[NDArray[np.int64]], NDArray[np.int64]]
) -> None:
    drawn = fault(sampler(steps))
    assert not (fits(drawn, law, steps) and tail_fits(drawn, law, steps, 3))


def test_the_law_12_to_16_deviations_out_is_exact() -> None:
    """Runs are chosen among those of |x| >= 15 t = 12 s, and trials' words among those that may succeed then.

    Such a number is taken with a probability below 2^-83: rationals decide every trial.
    """
    s, t, runs, rare = 40.0 * 2**16, 2**21, 15, 83

    def far(stage: int, drawn: bytes) -> bytes:
        words = np.frombuffer(drawn, np.uint64)
        if stage == Stages.RUNS:
            below = bernoulli.exp_word(runs) / 2**64
            return (words * below).astype(np.uint64).tobytes()
        if stage == Stages.TAKEN:
            return bytes(len(drawn))
        return (words >> np.uint64(rare - 64)).tobytes() if stage == Stages.NEAR else drawn

    random = Stages(fixed("far"), far)
    drawn = np.abs(ExactNoise(random).gaussian(s * LATTICE, (150,)))
    least = runs * t / s
    assert (drawn / s).min() >= least == 12
    ends = stats.norm.isf(stats.norm.sf(least) * np.arange(9, 0, -1) / 10)
    cells = np.bincount(np.searchsorted(ends, drawn / s), minlength=10)
    assert stats.chisquare(cells).pvalue > P


@SAMPLERS
def test_scales_are_taken_from_the_narrowest_to_the_widest(sampler: Sampler, law: Law) -> None:
    assert not sampler(MIN_SCALE).any()
    assert not sampler(2.0**-12).any()  # the next number's weight is exp(-2^12)
    wide = sampler(MAX_SCALE)
    ends = np.array([*range(-7, 8)]) / 4
    cells = np.bincount(np.searchsorted(ends, wide / MAX_SCALE), minlength=16)
    expected = np.diff(law.continuous.cdf(ends), prepend=0.0, append=1.0) * DRAWS
    assert stats.chisquare(cells, expected).pvalue > P
    ended = int((np.abs(wide) == BOUND).sum())
    assert stats.binomtest(ended, DRAWS, 2 * law.continuous.sf(2)).pvalue > P


@pytest.mark.parametrize(
    "scale",
    [0.0, -1.0, math.nan, math.inf, 0.99 * MIN_SCALE * LATTICE, 1.01 * MAX_SCALE * LATTICE],
)
def test_a_scale_that_is_none_is_refused(scale: float) -> None:
    noise = ExactNoise()
    for refused in (noise.gaussian, noise.laplace):
        with pytest.raises(ValueError, match="sigma: must be"):
            refused(scale, (2,))


@pytest.mark.parametrize("shape", [(3, 4), (5,), (0, 4), ()])
def test_shapes(shape: tuple[int, ...]) -> None:
    noise = ExactNoise()
    for drawn in (noise.gaussian(40, shape), noise.laplace(40, shape)):
        assert drawn.shape == shape
        assert drawn.dtype == np.int64
    assert noise.uniform(shape).shape == shape
    assert noise.uniform(shape).dtype == np.uint64


def test_every_draw_is_its_own() -> None:
    noise = ExactNoise()
    for draw in (noise.gaussian, noise.laplace):
        assert len(np.unique(np.concatenate([draw(40, (500,)) for _ in range(2)]))) > 980
    assert len(np.unique(noise.uniform((1000,)))) == 1000


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["_gaussian", "_laplace"]),
    scale=st.floats(MIN_SCALE, MAX_SCALE) | st.integers(-64, 61).map(lambda k: 1.4 * 2.0**k),
    part=st.integers(0, 2**62 - 1),
    run=st.integers(0, 60),
)
def test_exponents_are_as_close_as_the_proof_says(kind: str, scale: float, part: int, run: int) -> None:
    law = getattr(exact_noise, kind)(scale)
    u = part % 2**law.k
    exact = law.exactly(u + run * 2**law.k)
    close = float(law.exponents(np.array([float(u) * 2.0**-law.k]) + run)[0])
    assert exact >= 0
    assert abs(Fraction(close) - exact) < Fraction(1, 2**42) if exact < 47 else close > 46.5


@settings(max_examples=40)
@given(st.floats(MIN_SCALE, MAX_SCALE), st.integers(0, 2**65))
def test_taken_candidates_have_the_weights_of_the_law(scale: float, size: int) -> None:
    """Algorithm 3: a candidate's weight times its chance is that of the law, up to one factor for all."""
    exact = Fraction(scale)
    laws: list[tuple[Any, Callable[[int], Fraction]]] = [
        (exact_noise._gaussian(scale), lambda x: x**2 / (2 * exact**2)),
        (exact_noise._laplace(scale), lambda x: x / exact),
    ]
    for law, weight in laws:
        together = [law.exactly(x) + Fraction(x, 2**law.k) - weight(x) for x in (0, 1, size)]
        assert len(set(together)) == 1


def test_rationals_draw_what_enclosures_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """With an enclosure so wide that rationals decide a tenth, all numbers are the same."""
    for steps in (2.5, 45.5 * 2**16, 2.0**61):
        own = ExactNoise(fixed("same")).gaussian(steps * LATTICE, (300,))
        with monkeypatch.context() as patched:
            patched.setattr(bernoulli, "RELATIVE_ERROR", 2.0**-3)
            np.testing.assert_array_equal(ExactNoise(fixed("same")).gaussian(steps * LATTICE, (300,)), own)


def work(change: Callable[[int, bytes], bytes]) -> tuple[list[Any], NDArray[np.int64]]:
    """Return every line that a draw runs and how many bytes it asks for, and what it draws."""
    random = Stages(fixed("work"), change)
    lines: list[Any] = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if "ostraka/common/noise/" in frame.f_code.co_filename:
            lines.append((frame.f_code.co_name, frame.f_lineno, event))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        drawn = ExactNoise(random).laplace(2.0**4, (200,))
    finally:
        sys.settrace(before)
    return [lines, random.asked], drawn


def test_work_does_not_depend_on_signs_and_sizes() -> None:
    """The scale is a power of two, so that every candidate that is kept is taken, however large."""

    def negated(stage: int, drawn: bytes) -> bytes:
        flipped = np.frombuffer(drawn, np.uint64) ^ np.uint64(2**63)
        return flipped.tobytes() if stage == Stages.CANDIDATES else drawn

    def farther(stage: int, drawn: bytes) -> bytes:
        words = np.frombuffer(drawn, np.uint64) >> np.uint64(30)
        return words.tobytes() if stage == Stages.RUNS else drawn

    one, drawn = work(lambda _, given: given)
    other, opposite = work(negated)
    assert one == other
    np.testing.assert_array_equal(opposite, -drawn)
    wide, far = work(farther)
    assert one == wide
    assert np.abs(far).min() > 20 * 2**20
