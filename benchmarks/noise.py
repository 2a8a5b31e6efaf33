"""How fast privacy noise is drawn, at release and ahead of it."""

import threading
import time
from collections.abc import Callable
from functools import partial

from benchmarks.timing import best
from ostraka.common.mechanism import Draw
from ostraka.guardian.noise import NoisePrefetcher, OpenDpNoise

SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
DRAWS = 20_000  # enough that a call's fixed part does not show
WHILE_TEACHERS_VOTE_S = 1.0
BATCH = [Draw("gaussian", SIGMA, (256,)), Draw("gaussian", SIGMA, (256, 10))]


def main() -> None:
    """Print draws a second, and how long a release waits for prepared noise."""
    noise = OpenDpNoise()
    for name, sampler in (("Gaussians", noise.gaussian), ("Laplace draws", noise.laplace)):
        draw = partial(sampler, SIGMA, (DRAWS,))
        one = best(draw)
        two = best(partial(_twice, draw))
        print(
            f"noise, scale {SIGMA:g}: {DRAWS / one:,.0f} exact discrete {name}/s, "
            f"{2 * one / two:.2f} times as many on two threads"
        )
    live = best(lambda: [draw.of(noise) for draw in BATCH])
    print(f"noise of 256 Confident queries: {live * 1e3:.1f} ms live, {_prepare() * 1e3:.2f} ms prepared")


def _twice(work: Callable[[], object]) -> None:
    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _prepare() -> float:
    ahead = NoisePrefetcher(OpenDpNoise())
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
