"""Parts of multi-label releases: validated tallies, a check or a vote or both per label, and noisy bits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.noisy_outcomes import BEYOND, MAX_CELL, ROUNDING, passes_from
from ostraka.guardian.accounting.numerics.arguments import Floats, check_labels, check_norm, check_positives
from ostraka.guardian.accounting.numerics.moments import log_moments
from ostraka.guardian.accounting.numerics.normal import log_cdf_step

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class LabelVotes:
    """Positives and the number n of votes of each label, and which labels were answered: (Q, k) or (C,)."""

    positives: Floats
    n: Floats
    answered: Mask

    def __getitem__(self, rows: slice) -> LabelVotes:
        return LabelVotes(self.positives[rows], self.n[rows], self.answered[rows])

    def distinct(self) -> tuple[LabelVotes, NDArray[np.intp]]:
        """Return the distinct labels, flat, and the index of each label among them."""
        rows = np.stack([self.positives.ravel(), self.n.ravel(), self.answered.ravel()], axis=1)
        values, inverse = np.unique(np.asarray(rows, dtype=np.float64), axis=0, return_inverse=True)
        index = inverse.reshape(self.positives.shape)
        return LabelVotes(values[:, 0], values[:, 1], values[:, 2].astype(np.bool_)), index


@dataclass(frozen=True)
class Change:
    """What one unit can change in one query: ballots of norm `tau`, which is None without clipping."""

    influence: Influence
    tau: float | None

    @property
    def most(self) -> float:
        """Return the largest move of one label, in votes."""
        return self.influence.sensitivity * min(1.0, self.tau or 1.0)

    @property
    def budget(self) -> float:
        """Return the largest sum over labels of squared moves: 2 tau^2, because no entry is negative."""
        return math.inf if self.tau is None else 2 * (self.influence.sensitivity * self.tau) ** 2


@dataclass(frozen=True)
class Release:
    """The release of each label: its check, its bit, or both, with the deviations of their noise."""

    vote: float | None
    check: float | None = None
    threshold: float = 0.0
    lattice: float = 0.0

    def vote_centre(self, votes: LabelVotes, sigma: float) -> Floats:
        """Return (positives - negatives) in deviations of the difference of two draws."""
        return (2 * votes.positives - votes.n) / (math.sqrt(2) * sigma)

    def check_centre(self, top: Floats, sigma: float) -> Floats:
        """Return how far the larger count `top` lies above the check's threshold, in deviations."""
        return (top - passes_from(self.threshold, self.lattice)) / sigma


def top(positives: Floats, n: Floats) -> Floats:
    """Return the larger of positives and negatives, the count that the check looks at."""
    return np.maximum(positives, n - positives)


def label_votes(
    positives: ArrayLike, n: ArrayLike, change: Change, answered: ArrayLike | None = None
) -> LabelVotes:
    """Return validated votes; every label is answered if `answered` is None.

    Raises:
        InputError: if votes are negative, exceed n or are not finite; if tau or `answered` do not fit the
            labels.
    """
    counts, total = check_positives(positives, n)
    if change.tau is not None:
        check_norm("tau", change.tau, math.sqrt(counts.shape[1]))
    mask = np.ones(counts.shape, dtype=np.bool_) if answered is None else check_labels(answered, counts.shape)
    return LabelVotes(counts, total, mask)


def bit_rdp(centre: Floats, shift: Floats, orders: Floats) -> Floats:
    """Return the rdp (2, R, C) between Bernoulli(Phi(centre)) and Bernoulli(Phi(centre + shift)).

    Args:
        centre: how far the number lies above the threshold, in deviations of its noise, (C,).
        shift: how far a neighbour moves it, in the same unit, (C,).
        orders: Renyi orders (R,), above 1.

    Returns:
        First the divergence of the centre from the shifted bit, then the other direction.
    """
    log_p = np.stack([log_ndtr(centre), log_ndtr(-centre)])
    change = np.stack([log_cdf_step(centre, shift), log_cdf_step(-centre, -shift)])
    moments = log_moments(log_p, change, np.concatenate([1 - orders, orders]))
    known = np.maximum(np.nan_to_num(moments, nan=np.inf), 0.0)
    return np.asarray(known.reshape(2, len(orders), -1) / (orders - 1)[:, None], dtype=np.float64)


def bit_error(step: float, reach: Floats) -> Floats:
    """Bound the error of a bit's log probabilities, for a number within `reach` deviations.

    The error is 0 for continuous noise (`step` 0, in deviations), and infinite for steps so wide that nothing
    is proved. Proved in docs/accounting-multilabel.md.
    """
    if step == 0:
        return np.zeros_like(reach)
    far = reach + BEYOND
    discrete = np.where(step * far <= MAX_CELL, (step * (far + 1)) ** 2 / 2, np.inf)
    return np.asarray(discrete + ROUNDING * (1 + reach**2), dtype=np.float64)
