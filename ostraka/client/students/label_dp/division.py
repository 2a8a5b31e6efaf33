"""Labels divided into likely right and likely wrong ones by how well a network fits them (DivideMix)."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_VARIANCE = 5e-4
"""Added to both variances, of losses scaled to [0, 1]; DivideMix's value."""


def probability_right(losses: Floats, seed: int = 0) -> Floats:
    """Probability that each label is right, (N,), by a mixture of two Gaussians of the losses.

    A network fits right labels first: the component of the smaller mean is theirs (DivideMix, section 3.1).
    Where all losses are the same there is nothing to divide: every label counts as right.

    Args:
        losses: of every record with its own label, (N,), N at least 2, finite.
        seed: of the mixture's start.
    """
    from sklearn.mixture import GaussianMixture

    low, high = float(losses.min()), float(losses.max())
    if high <= low:
        return np.ones(len(losses))
    scaled = ((losses - low) / (high - low))[:, None]
    mixture = GaussianMixture(2, max_iter=50, reg_covar=LEAST_VARIANCE, random_state=seed).fit(scaled)
    responsibilities: Floats = mixture.predict_proba(scaled)
    return responsibilities[:, int(mixture.means_.argmin())]
