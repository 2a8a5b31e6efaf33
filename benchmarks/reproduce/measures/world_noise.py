"""Noise compared with OpenDP's own measurements, and with its theoretical distribution."""

from collections.abc import Callable
from time import process_time

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.timing import best
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.noise import LATTICE, ExactNoise
from ostraka.guardian.noise.opendp_noise import OpenDpNoise

SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
DRAWS = 20_000  # enough that a call's fixed overhead is negligible
SCALE = 3.0
"""In lattice steps: so small that the probability of every value can be tested."""
MIN_P = 1e-4
"""A correct sampler falls below it once in ten thousand runs."""
MIN_EXPECTED = 5.0
"""Minimum expected draws of a value for chi-square; rarer values are merged with their neighbour."""


def noise(job: Job) -> Outcome:
    """Compare draws per processor second with OpenDP's, and test the distribution of the draws."""
    draws = DRAWS // (10 if job.quick else 1)
    own = ExactNoise()
    opendp = OpenDpNoise()
    ours, theirs = (
        draws / best(draw, process_time)
        for draw in (lambda: own.gaussian(SIGMA, (draws,)), lambda: opendp.gaussian(SIGMA, (draws,)))
    )
    gaussian = p_value(own.gaussian(SCALE * LATTICE, (draws,)), lambda x: np.exp(-(x**2) / (2 * SCALE**2)))
    laplace = p_value(own.laplace(SCALE * LATTICE, (draws,)), lambda x: np.exp(-np.abs(x) / SCALE))
    return Outcome(
        (Figure("discrete Gaussians a processor second", (ours,), theirs, "higher", 0.2),),
        (
            Claim("discrete Gaussians have the published law, by chi-square", gaussian > MIN_P),
            Claim("discrete Laplace draws have theirs", laplace > MIN_P),
        ),
    )


def p_value(drawn: NDArray[np.int64], weight: Callable[[Floats], Floats]) -> float:
    """Return the p-value of draws for a distribution, symmetric about 0, given up to a constant factor."""
    support = np.arange(-60, 61)
    law = weight(support.astype(np.float64))
    expected = len(drawn) * law / law.sum()
    often = np.flatnonzero(expected >= MIN_EXPECTED)
    cells = np.clip(drawn, support[often[0]], support[often[-1]])
    found = np.bincount(cells - support[often[0]], minlength=len(often))
    first = expected[: often[0]].sum()
    last = expected[often[-1] + 1 :].sum()
    wanted = expected[often] + np.r_[first, np.zeros(len(often) - 2), last]
    return float(stats.chisquare(found, wanted).pvalue)
