"""Cost of published runs, and speed of charging histograms compared with a straightforward loop."""

import math
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from benchmarks import published
from benchmarks.timing import best
from ostraka.common.privacy import ORDERS
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp
from ostraka.guardian.noise import LATTICE, ExactNoise

HISTOGRAMS = 20_000  # enough that a call's fixed overhead is negligible
CLASSES = 10  # MNIST's
TEACHERS = 250  # MNIST's ensemble (Papernot et al. 2018)
SIGMA = 40.0  # of MNIST's plan (Papernot et al. 2018)
LOOPED = 500  # the loop takes 1 ms per histogram
EXACT = 2_000  # an exact cost takes ten times as long as theorem6's
EXACT_LOOPED = 5  # the loop takes seconds per histogram
CHECK = (200.0, 150.0)
"""Threshold and noise of a check."""

AT = np.array(ORDERS)[::3]


def main() -> None:
    """Print the cost of published runs, histograms per second next to a loop, and noise draws per second."""
    published.table()
    _theorem6()
    _exact()
    _confident()
    draws = 20_000
    rate = draws / best(lambda: ExactNoise().gaussian(SIGMA, (draws,)))
    print(f"noise, sigma {SIGMA:g}: {rate:,.0f} exact discrete Gaussians/s")


def _theorem6() -> None:
    votes = histograms()
    few = votes[:LOOPED]
    looped = np.array([loop(row, SIGMA, AT) for row in few])
    np.testing.assert_allclose(gnmax_rdp(few, SIGMA, AT, bound="theorem6"), looped, rtol=1e-9)
    ours = HISTOGRAMS / best(lambda: gnmax_rdp(votes, SIGMA, AT, bound="theorem6"))
    _print("theorem6", AT, ours, LOOPED / best(lambda: [loop(row, SIGMA, AT) for row in few]))


def _exact() -> None:
    votes = histograms(EXACT, concentration=1.0)
    orders = np.array(ORDERS)[:120:2]
    few = votes[:EXACT_LOOPED]
    looped = np.array([exact_loop(row, SIGMA, orders) for row in few])
    np.testing.assert_allclose(gnmax_rdp(few, SIGMA, orders, bound="exact"), looped, rtol=1e-6)
    ours = EXACT / best(lambda: gnmax_rdp(votes, SIGMA, orders, bound="exact"))
    _print("exact", orders, ours, EXACT_LOOPED / best(lambda: [exact_loop(v, SIGMA, orders) for v in few]))


def _confident() -> None:
    """Time the work for a unit's filter: one order, on the lattice that is released."""
    votes = histograms(EXACT, concentration=1.0)
    answered = votes.max(axis=1) > CHECK[0]
    for how, labels in (("outcome", None), ("label", votes.argmax(axis=1))):
        cost = partial(confident_rdp, votes, *CHECK, SIGMA, 18.0, answered, labels=labels, lattice=LATTICE)
        rate = EXACT / best(cost)
        print(f"accounting exact by {how} of Confident, {CLASSES} classes, 1 order: {rate:,.0f} histograms/s")


def _print(what: str, orders: NDArray[np.float64], ours: float, theirs: float) -> None:
    print(
        f"accounting {what}, {CLASSES} classes, {len(orders)} orders: {ours:,.0f} histograms/s, "
        f"{ours / theirs:.0f} times a loop ({theirs:,.0f}/s)"
    )


def histograms(count: int = HISTOGRAMS, concentration: float = 0.3) -> NDArray[np.float64]:
    """Return seeded histograms from near ties to near unanimity."""
    draws = np.random.default_rng(0)
    shares = draws.dirichlet([concentration] * CLASSES, count)
    return draws.multinomial(TEACHERS, shares).astype(np.float64)


def loop(votes: NDArray[np.float64], sigma: float, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return theorem6 of one histogram (k,), as Papernot et al. 2018 state it."""
    leader = int(votes.argmax())
    gaps = votes[leader] - np.delete(votes, leader)
    log_q = min(
        np.logaddexp.reduce(stats.norm.logsf(gaps, scale=math.sqrt(2) * sigma)), math.log1p(-1 / len(votes))
    )
    rdp = orders / sigma**2
    mu2 = sigma * math.sqrt(-log_q)
    mu1 = mu2 + 1
    if mu2 <= 1:
        return rdp
    e1 = mu1 / sigma**2
    e2 = mu2 / sigma**2
    limit = (mu2 - 1) * e2 - mu2 * math.log(mu1 / (mu1 - 1) * mu2 / (mu2 - 1))
    if log_q > limit or -log_q <= e2:
        return rdp
    log_1q = math.log1p(-math.exp(log_q))
    log_a = log_1q - math.log1p(-math.exp((log_q + e2) * (mu2 - 1) / mu2))
    log_b = e1 - log_q / (mu1 - 1)
    bound = np.logaddexp(log_1q + (orders - 1) * log_a, log_q + (orders - 1) * log_b) / (orders - 1)
    return np.where(orders < mu1, np.minimum(rdp, bound), rdp)


def exact_loop(votes: NDArray[np.float64], sigma: float, orders: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest divergence of one histogram (k,) from every neighbour, in a loop over neighbours."""
    here = _probabilities(votes, sigma)
    rdp = np.zeros(len(orders))
    for a, b in np.argwhere(~np.eye(len(votes), dtype=bool)):
        if votes[a] > 0:
            moved = votes.copy()
            moved[a] -= 1
            moved[b] += 1
            there = _probabilities(moved, sigma)
            for p, r in ((here, there), (there, here)):
                at = orders[:, None]
                rdp = np.maximum(rdp, np.log((p**at * r ** (1 - at)).sum(axis=1)) / (orders - 1))
    return np.minimum(rdp, orders / sigma**2)


def _probabilities(votes: NDArray[np.float64], sigma: float) -> NDArray[np.float64]:
    means = votes[:, None] / sigma
    x = np.arange(means.min() - 9, means.max() + 12, 0.1)
    below = stats.norm.cdf(x - means)
    wins = stats.norm.pdf(x - means) * below.prod(axis=0) / below
    return np.asarray(wins.sum(axis=1) / wins.sum())


if __name__ == "__main__":
    main()
