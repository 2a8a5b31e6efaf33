"""One voting process: Confident GNMax on a shuffled pool, with NumPy's noise, which is not for releases."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.budgets import ORDERS
from benchmarks.personalized.data import Parameters
from ostraka.common.privacy import Influence
from ostraka.guardian.accounting import confident_rdp
from ostraka.guardian.accounting.numerics.arguments import Bound, Floats


@dataclass(frozen=True)
class Ballots:
    """Teachers' votes on queries.

    Attributes:
        counts: weighted votes (Q, k).
        scale: factor of Table 2's threshold and deviations, (Q,): the votes per 250.
    """

    counts: Floats
    scale: Floats

    def rows(self, chosen: NDArray[np.int64] | slice) -> "Ballots":
        """Return the chosen queries."""
        return Ballots(self.counts[chosen], self.scale[chosen])


@dataclass(frozen=True)
class Answers:
    """Answers to queries.

    Attributes:
        answered: whether the check passed, bool (Q,).
        labels: noisy argmax, int64 (Q,).
    """

    answered: NDArray[np.bool_]
    labels: NDArray[np.int64]


def histogram(votes: NDArray[np.uint8], classes: int, weights: Floats) -> Floats:
    """Return each class's weight (Q, classes) in `votes` (teachers, Q).

    `weights` are per teacher, (teachers,), or per query and teacher, (Q, teachers).
    """
    by_query = np.broadcast_to(weights, (votes.shape[1], len(votes)))
    return np.stack([(by_query * (label == votes.T)).sum(axis=1) for label in range(classes)], axis=1)


def answer(ballots: Ballots, parameters: Parameters, random: np.random.Generator) -> Answers:
    """Check every query and label it, with fresh noise."""
    counts = ballots.counts
    scale = ballots.scale
    check = counts.max(axis=1) + scale * parameters.sigma1 * random.standard_normal(len(counts))
    noisy = counts + scale[:, None] * parameters.sigma2 * random.standard_normal(counts.shape)
    return Answers(check >= scale * parameters.threshold, noisy.argmax(axis=1))


class Prices:
    """Cost of queries of one dataset; histograms that differ only in the order of classes are computed
    once."""

    def __init__(self, parameters: Parameters) -> None:
        """Take threshold and deviations for 250 votes."""
        self.parameters = parameters
        self._known: dict[tuple[object, ...], Floats] = {}

    def charges(
        self, ballots: Ballots, answered: NDArray[np.bool_], influence: Influence, bound: Bound
    ) -> Floats:
        """Return the rdp (Q, R) at ORDERS of queries for a unit of this influence."""
        rdp = np.empty((len(answered), len(ORDERS)))
        for scale in np.unique(ballots.scale):
            rows = ballots.scale == scale
            alike = np.column_stack([np.sort(ballots.counts[rows]), answered[rows]])
            kinds, kind = np.unique(alike, axis=0, return_inverse=True)
            rdp[rows] = self._of_kinds(kinds, float(scale), influence, bound)[kind]
        return rdp

    def _of_kinds(self, kinds: Floats, scale: float, influence: Influence, bound: Bound) -> Floats:
        """Return the rdp (K, R) of `kinds` (K, k + 1): a histogram, and whether it was answered."""
        keys = [(scale, influence, bound, one.tobytes()) for one in kinds]
        new = np.array([key not in self._known for key in keys])
        if new.any():
            costs = confident_rdp(
                kinds[new, :-1],
                scale * self.parameters.threshold,
                scale * self.parameters.sigma1,
                scale * self.parameters.sigma2,
                ORDERS,
                kinds[new, -1] == 1,
                bound=bound,
                influence=influence,
            )
            self._known.update(zip([keys[row] for row in np.flatnonzero(new)], costs, strict=True))
        return np.stack([self._known[key] for key in keys])
