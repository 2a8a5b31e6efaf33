"""RRWithPrior: randomised response among the classes that a prior calls likely (Ghazi et al. 2021)."""

import secrets

import numpy as np
from numpy.typing import NDArray

from benchmarks.label_dp.data import Labels
from ostraka.services.hosting.records import randomize

Prior = NDArray[np.float64]


def randomize_with_prior(y: Labels, prior: Prior, epsilon: float) -> Labels:
    """Draw labels anew among each record's `width_of` likeliest classes; any other label as any of these.

    Each draw is epsilon-label-DP with delta 0, where the prior does not depend on this label: of k classes
    one comes with p = e^epsilon/(e^epsilon + k - 1) for its own label, with (1 - p)/(k - 1) for another of
    the k, and with 1/k, which lies between, for the rest. An even prior gives randomised response.

    Args:
        y: true labels, int64 (N,).
        prior: how likely each class is, float64 (N, classes).
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
    """Return among how many of its likeliest classes a record's label comes out right most often, (N,)."""
    covered = np.sort(prior, axis=1)[:, ::-1].cumsum(axis=1)
    kept = 1 / (1 + np.arange(prior.shape[1]) * np.exp(-epsilon))
    return np.asarray((covered * kept).argmax(axis=1) + 1, np.int64)
