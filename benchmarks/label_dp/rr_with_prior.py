"""RRWithPrior: randomised response among the classes that are likely by a prior (Ghazi et al. 2021)."""

import secrets

import numpy as np
from numpy.typing import NDArray

from benchmarks.label_dp.data import Labels
from ostraka.services.hosting.records import randomize

Prior = NDArray[np.float64]


def randomize_with_prior(y: Labels, prior: Prior, epsilon: float) -> Labels:
    """Randomise labels among each record's `width_of` most likely classes; other labels uniformly.

    Each draw is epsilon-label-DP with delta 0 if the prior does not depend on this label. Of k classes, one
    has probability p = e^epsilon/(e^epsilon + k - 1) for its own label, (1 - p)/(k - 1) for another of the k,
    and 1/k, which is in between, for all other labels. A uniform prior gives randomised response.

    Args:
        y: true labels, int64 (N,).
        prior: probability of each class, float64 (N, classes).
        epsilon: of label-DP, above 0.
    """
    order = np.argsort(-prior, axis=1, kind="stable")
    place = (order == y[:, None]).argmax(axis=1)
    widths = width_of(prior, epsilon)
    drawn = np.zeros_like(y)
    for width in np.unique(widths[widths > 1]).tolist():
        rows = np.flatnonzero((widths == width) & (place < width))
        drawn[rows] = randomize(place[rows], width, epsilon)
    for row in np.flatnonzero(place >= widths).tolist():
        drawn[row] = secrets.randbelow(int(widths[row]))
    return np.asarray(order[np.arange(len(y)), drawn], np.int64)


def width_of(prior: Prior, epsilon: float) -> NDArray[np.int64]:
    """Return the number of most likely classes that maximizes the chance of a right label, by record,
    (N,)."""
    covered = np.sort(prior, axis=1)[:, ::-1].cumsum(axis=1)
    kept = 1 / (1 + np.arange(prior.shape[1]) * np.exp(-epsilon))
    return np.asarray((covered * kept).argmax(axis=1) + 1, np.int64)
