"""Speed of drawing privacy noise, by Ostraka's sampler and by OpenDP's, at release and in advance."""

import threading
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.timing import best
from ostraka.common.mechanism import Draw
from ostraka.guardian.noise import LATTICE, ExactNoise, NoisePrefetcher, NoiseSource
from ostraka.guardian.noise.opendp_noise import OpenDpNoise

SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
NARROW = 2.5 * LATTICE  # a few lattice steps: other numbers, the same work
WORST = 1.01 * 2**6  # just above a power of two, where the fewest candidates are accepted for Laplace noise
DRAWS = {"Ostraka": 300_000, "OpenDP": 20_000}
"""Enough draws that a call's fixed overhead is negligible."""
WHILE_TEACHERS_VOTE_S = 1.0
BATCH = [Draw("gaussian", SIGMA, (256,)), Draw("gaussian", SIGMA, (256, 10))]
Sampler = Callable[[float, tuple[int, ...]], NDArray[np.int64]]


def main() -> None:
    """Print draws per second of one core, and how long a release waits for prepared noise."""
    ours = ExactNoise()
    opendp = OpenDpNoise()
    for scale in (SIGMA, WORST, NARROW):
        _print_rates("Gaussians", scale, ours.gaussian, opendp.gaussian)
        _print_rates("Laplace draws", scale, ours.laplace, opendp.laplace)
    draw = partial(ours.gaussian, SIGMA, (DRAWS["Ostraka"],))
    print(f"two threads draw {2 * best(draw) / best(partial(_twice, draw)):.2f} times as many as one")
    live = best(lambda: [draw.of(ours) for draw in BATCH])
    waited = _prepare(ours)
    print(f"noise of 256 Confident queries: {live * 1e3:.1f} ms live, {waited * 1e3:.2f} ms prepared")


def _print_rates(name: str, scale: float, ours: Sampler, opendp: Sampler) -> None:
    own, others = (
        draws / best(partial(sampler, scale, (draws,)), time.process_time)
        for sampler, draws in zip((ours, opendp), DRAWS.values(), strict=True)
    )
    print(
        f"scale of {scale / LATTICE:,.1f} steps: {own:,.0f} exact discrete {name} a processor second, "
        f"OpenDP {others:,.0f}: {own / others:.1f} times"
    )


def _twice(work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _prepare(source: NoiseSource) -> float:
    ahead = NoisePrefetcher(source)
    noise = ahead.prepare(BATCH)
    time.sleep(WHILE_TEACHERS_VOTE_S)
    start = time.perf_counter()
    for draw in BATCH:
        draw.of(noise)
    waited = time.perf_counter() - start
    ahead.close()
    return waited


if __name__ == "__main__":
    main()
