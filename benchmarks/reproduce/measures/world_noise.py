"""Noise beside OpenDP's own measurements, and beside the law that it is to have."""

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
DRAWS = 20_000  # enough that a call's fixed part does not show
SCALE = 3.0
"""In steps of the lattice: so few that every value has a probability of its own, which can be tested."""
MIN_P = 1e-4
"""That a sound sampler falls below once in ten thousand runs."""
MIN_EXPECTED = 5.0
"""Draws that a value is to have, for chi-square; rarer ones are counted with their neighbour."""


def noise(job: Job) -> Outcome:
    """Compare draws a processor second with OpenDP's, and test that draws have the law that is published."""
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
    """Return the p-value of draws against a law, known but for its sum, that is symmetric about 0."""
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
