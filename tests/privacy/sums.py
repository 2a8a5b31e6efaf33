"""Sessions of several questions about sums, chosen by an adversary depending on earlier releases.

The adversary knows all records except one, for which there are two candidates. In each round it asks one of
two questions, depending on the last answer, and adds up how much likelier everything it saw is with one
candidate than with the other: no test is better.
"""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.mechanism import Bins, Boost, Gradients, Moments, RecordSums, Statistics
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_epsilon
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import expand, fresh_seed
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import (
    AdditiveModel,
    AnyQuestion,
    BoostQuestion,
    ColumnStatistic,
    GradientQuestion,
    MomentsQuestion,
    StatisticsQuestion,
    Target,
)
from ostraka.guardian.mechanisms import release_sums
from ostraka.guardian.noise import NoiseSource
from ostraka.services.admission.grants import Permission
from ostraka.services.hosting.records import Records
from ostraka.services.sums.summing import sum_cohorts
from tests.privacy.evidence import P, chance, least_epsilon

Floats = NDArray[np.float64]
RING = Ring(64)
DELTA = 0.01
"""So large that some thousand sessions show most of an epsilon: smaller deltas need rarer outcomes."""
ROUNDS = 3
EDGES = np.linspace(-3, 3, 41)
"""Between outcomes, in deviations around the middle of both neighbours."""
WEIGHTS = (VOTE, VOTE * 3 // 2)


@dataclass(frozen=True)
class SumSession:
    """An adversary's questions, about records of which one has two candidates.

    Attributes:
        name: its name in the audit.
        mechanism: mechanism of the plan.
        questions: questions of which one is asked in each round.
        neighbours: features and label of the two candidates.
        votes: number of places with the candidate, like the records of one person.
        cohort: cohort of the record, among those with `WEIGHTS`.
    """

    name: str
    mechanism: RecordSums
    questions: tuple[AnyQuestion, AnyQuestion]
    neighbours: tuple[tuple[list[float], int], tuple[list[float], int]]
    votes: int = 1
    cohort: int = 0
    queries: int = ROUNDS

    def __str__(self) -> str:
        return self.name

    @property
    def influence(self) -> float:
        """The influence that the unit is charged for."""
        return float(self.votes * WEIGHTS[self.cohort] / VOTE)

    def claimed(self, delta: float) -> float:
        """Return the smallest epsilon that is promised under any filter."""
        cost = self.queries * self.mechanism.worst_case(GAUSSIAN, self.influence, classes=2).answer
        renyi = [
            self.queries * self.mechanism.worst_case(a, self.influence, classes=2).answer for a in ORDERS
        ]
        least: float = min(gaussian_epsilon(cost, delta), epsilon(renyi, ORDERS, delta))
        return least

    def sums(self, side: int) -> NDArray[np.int64]:
        """Return a party's sum in steps by either question, (2, width), with one of the neighbours."""
        rng = np.random.default_rng(5)
        X = rng.normal(size=(40, 2)).astype(np.float32)
        y = rng.integers(0, 2, 40)
        cohorts = np.arange(40) % 2
        values, label = self.neighbours[side]
        places = np.flatnonzero(cohorts == self.cohort)[: self.votes]
        X[places], y[places] = values, label
        records = Records(X, y, cohorts, 2, groups=cohorts, codes=X, features=X)
        allowed = SimpleNamespace(
            participant=SimpleNamespace(cohorts=[SimpleNamespace(weight=weight) for weight in WEIGHTS]),
            scheduled=np.ones((2, 1), np.bool_),
        )
        return np.stack([sum_cohorts(each, records, cast(Permission, allowed)) for each in self.questions])


@dataclass(frozen=True)
class AttackedSums:
    """What an adversary found.

    Attributes:
        attack: what was done.
        transcripts: number of sessions with each neighbour.
        chance: the probability of such a deviation of outcomes if the noise is right.
        least: the smallest epsilon that is consistent with the outcomes.
        exact: the epsilon of their probabilities.
        claimed: the epsilon that is promised.
    """

    attack: SumSession
    transcripts: int
    chance: float
    least: float
    exact: float
    claimed: float

    @property
    def holds(self) -> bool:
        """Whether the promise is kept, with outcomes as probable as calculated."""
        return self.least <= self.claimed and self.chance > P


def attack_sums(session: SumSession, transcripts: int, noise: NoiseSource, delta: float) -> AttackedSums:
    """Return what this many sessions with each neighbour reveal."""
    sums = np.stack([session.sums(side) for side in (0, 1)])
    apart = sums[1] - sums[0]
    sigmas = np.concatenate([np.full(block.width, block.sigma) for block in session.mechanism.blocks])
    scaled = apart / sigmas / VOTE
    # Both questions reveal equally much, so the choice of questions changes no probability.
    squares = (scaled**2).sum(axis=1)
    assert np.allclose(squares[0], squares[1], rtol=1e-3)
    counts = tuple(_observe(session, sums, scaled / sigmas, side, transcripts, noise) for side in (0, 1))
    mu = float(np.sqrt(session.queries * squares.mean()))
    edges = np.array([-np.inf, *EDGES, np.inf])
    expected = tuple(np.diff(stats.norm.cdf(edges, mean, 1)) for mean in (-mu / 2, mu / 2))
    rho = mu**2 / 2
    return AttackedSums(
        session,
        transcripts,
        min(1.0, 2 * min(chance(seen, p) for seen, p in zip(counts, expected, strict=True))),
        least_epsilon((counts[0], counts[1]), (expected[0], expected[1]), delta),
        gaussian_epsilon(rho, delta),
        session.claimed(delta),
    )


def _observe(
    session: SumSession,
    sums: NDArray[np.int64],
    slopes: Floats,
    side: int,
    transcripts: int,
    noise: NoiseSource,
) -> NDArray[np.int64]:
    """Return how often the likelihood's deviations of whole sessions fell between edges."""
    asked = np.zeros(transcripts, np.int64)
    likelihood, squares = np.zeros(transcripts), 0.0
    for _ in range(session.queries):
        ballots = np.ldexp(sums[side][asked].astype(np.float64), -FRACTION_BITS)
        rows, width = ballots.shape
        own = expand(fresh_seed(), rows, width, RING)
        total = RING.add(RING.subtract(encode(ballots, RING), own), own)
        released = np.ldexp(
            release_sums(total, session.mechanism, noise, RING).astype(np.float64), -FRACTION_BITS
        )
        middle = np.ldexp((sums[0][asked] + sums[1][asked]).astype(np.float64), -FRACTION_BITS - 1)
        likelihood += ((released - middle) * slopes[asked]).sum(axis=1)
        apart = np.ldexp((sums[1] - sums[0]).astype(np.float64), -FRACTION_BITS)
        squares += float((apart * slopes).sum(axis=1).mean())
        asked = (released.sum(axis=1) > middle.sum(axis=1)).astype(np.int64)
    places = np.digitize(likelihood / np.sqrt(squares), EDGES)
    return np.bincount(places, minlength=len(EDGES) + 1).astype(np.int64)


def _signed(vectors: list[list[float]]) -> tuple[ClassCodes, ClassCodes]:
    codes = np.array(vectors)
    return ClassCodes(codes), ClassCodes(-codes)


_MAP = FeatureMap(np.zeros(2), 1.0, 0.0)
_BINNED = FeatureMap(np.zeros(4), 1.0, 0.3, (np.array([0.0]), np.array([0.0])))
_SAME: Any = (([1.0, 0.0], 0), ([1.0, 0.0], 1))
_LOGISTIC = Target("logistic", 1)
_FAR = AdditiveModel(np.zeros(1))


def _moments(map: FeatureMap, *, gram: bool = False) -> tuple[MomentsQuestion, MomentsQuestion]:
    one, other = _signed([[0.6, 0.8], [-0.6, -0.8]])
    return MomentsQuestion(map, one, gram), MomentsQuestion(map, other, gram)


def _gradients(sign: float) -> GradientQuestion:
    # Softmax clipped far below the length of any residual: gradients of the two classes are opposite.
    weights = np.zeros((3, 2))
    weights[2] = sign, -sign
    return GradientQuestion(_MAP, Target("softmax", 2), weights, 0.01)


def _boosts() -> tuple[BoostQuestion, BoostQuestion]:
    return tuple(  # type: ignore[return-value]
        BoostQuestion(_FAR, _LOGISTIC, feature, np.array([0.0]), 2, 0.01) for feature in (0, 1)
    )


def _counts(bins: int) -> StatisticsQuestion:
    return StatisticsQuestion(tuple(ColumnStatistic(column, -1.0, 1.0, bins) for column in (0, 1)))


SESSIONS: tuple[SumSession, ...] = (
    SumSession("moments", Moments(columns=3, codes=2, sigma=5.0), _moments(_MAP), _SAME),
    SumSession(
        "moments, Gram alone tells",
        Moments(columns=3, codes=2, sigma=2000.0, gram_sigma=3.6),
        _moments(_MAP, gram=True),
        (([1.0, 0.0], 0), ([0.0, 1.0], 0)),
    ),
    SumSession(
        "moments, a person of a heavy group",
        Moments(columns=3, codes=2, sigma=15.0),
        _moments(_MAP),
        _SAME,
        votes=2,
        cohort=1,
    ),
    SumSession("bins", Bins(columns=5, codes=2, sigma=5.0), _moments(_BINNED), _SAME),
    SumSession("boost", Boost(bins=2, outputs=1, sigma=5.0), _boosts(), _SAME),
    SumSession("gradients", Gradients(parameters=6, sigma=5.0), (_gradients(0.5), _gradients(-0.5)), _SAME),
    SumSession(
        "statistics",
        Statistics(cells=6, columns=2, sigma=5.0),
        (_counts(2), _counts(2)),
        (([-0.9, -0.9], 0), ([0.9, 0.9], 0)),
    ),
)
"""Each moves its sums by nearly as much as is charged."""
