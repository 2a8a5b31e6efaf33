"""An adversary with all the powers that the threat model allows (Chadha et al. 2024, for PATE and CaPC).

It poisons every teacher except the canary's, and chooses the votes of that teacher too, with the canary and
without it; it chooses queries, noise and offsets, and reads whole transcripts and what is published of them.
It learns which outcomes are telling from its own runs of both neighbours, and then guesses which neighbour
new transcripts come from. The share of correct guesses gives a lower bound on what a transcript reveals: at
delta as an epsilon, and at every order as a Renyi divergence, that of its guesses, which no processing of a
transcript exceeds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, ldexp, log, log1p

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DistributedGnMax,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    Tau,
    Threshold,
)
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, epsilon
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.smooth_noise import SmoothNoise, VoteTotal
from ostraka.guardian.mechanisms.charge import vote_total
from ostraka.guardian.noise import NoiseSource
from tests.privacy.cases import Case, charged, records, scored, voted
from tests.privacy.evidence import P, highest_chance, lowest_chance
from tests.privacy.sampling import drawn, tally

Floats = NDArray[np.float64]
RING = Ring(64)
HALF = 2.0 ** (RING.bits - 1 - FRACTION_BITS)
"""Votes worth half the ring, where counts wrap around."""
EVENTS = 16
BINS = 12
MOST_ATTACKS = 64
"""Number of attacks that share the total probability of a false failure."""


@dataclass(frozen=True)
class Publication:
    """An epsilon that is published of all votes of a transcript.

    Attributes:
        order: the order of the unit's budget.
        queries: number of queries with these votes; those of the transcript come first.
        besides: what the unit has spent on other releases, in rdp: with it, noise below 0 is visible too.
    """

    order: float
    queries: int
    besides: float = 0.0


@dataclass(frozen=True)
class Attack:
    """What an adversary does.

    Attributes:
        name: its name in the audit.
        case: the mechanism, and the votes of all teachers, with the canary and without it.
        queries: number of times these votes are queried in one transcript; 0 for only a publication.
        offset: votes that the querying party adds to each count of the sums that it opens.
        publication: what is published at the end, if anything.
    """

    name: str
    case: Case
    queries: int
    offset: tuple[float, ...] = ()
    publication: Publication | None = None

    def __str__(self) -> str:
        return self.name

    def claimed(self, order: float) -> float:
        """Return what the unit is charged for a transcript at an order."""
        spent = self.queries * charged(self.case, order)
        if self.publication is None:
            return spent
        noise = SmoothNoise.by_order(self.publication.order)
        return spent + noise.cost(order) * AMOUNT_UNIT if order <= self.publication.order else inf


@dataclass(frozen=True)
class Transcripts:
    """What an adversary sees: outcomes (N, queries), and published amounts (N,), empty if none are."""

    outcomes: NDArray[np.int64]
    published: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True)
class Attacked:
    """What an attack found; wrong with a probability of at most `P` for all attacks together.

    Attributes:
        attack: the attack.
        transcripts: number of transcripts of each neighbour.
        least: the smallest epsilon at the audit's delta that is consistent with the guesses.
        claimed: the epsilon at that delta of what the unit is charged.
        share: the largest Renyi divergence of the guesses, relative to the charge at its order.
    """

    attack: Attack
    transcripts: int
    least: float
    claimed: float
    share: float

    @property
    def holds(self) -> bool:
        """Whether the guesses are consistent with the claim."""
        return self.least <= self.claimed and self.share <= 1


def attacked(
    attack: Attack,
    transcripts: int,
    noise: NoiseSource,
    delta: float,
    *,
    runs: Attack | None = None,
    kept: Callable[[Tally, float], VoteTotal] | None = None,
) -> Attacked:
    """Return what an adversary finds out from `transcripts` transcripts of each neighbour.

    If a fault is planted, `runs` is executed in place of the attack, and `kept` computes the stored votes.
    """
    happens, keep = runs or attack, kept or _kept
    learnt = [observe(happens, side, max(transcripts // 4, 250), noise, keep) for side in (0, 1)]
    fresh = [observe(happens, side, transcripts, noise, keep) for side in (0, 1)]
    score = learn(learnt[0], learnt[1])
    events = np.unique(np.quantile(np.concatenate([score(seen) for seen in learnt]), _LEVELS))
    scores = [score(seen) for seen in fresh]
    likelier = [[int((seen >= event).sum()) for event in events] for seen in scores]
    rarer = [[transcripts - count for count in counts] for counts in likelier]
    risk = P / (MOST_ATTACKS * 4 * EVENTS)
    pairs = [
        (lowest_chance(often, transcripts, risk), highest_chance(seldom, transcripts, risk))
        for one, other in ((likelier[0], likelier[1]), (rarer[1], rarer[0]))
        for often, seldom in zip(one, other, strict=True)
    ]
    orders = [order for order in ORDERS if attack.claimed(order) < inf]
    claims = [attack.claimed(order) for order in orders]
    return Attacked(
        attack,
        transcripts,
        max(0.0, *(log((low - delta) / high) for low, high in pairs if low > delta)),
        epsilon(claims, orders, delta),
        max(
            _divergence(low, high, order) / claim
            for low, high in pairs
            for order, claim in zip(orders, claims, strict=True)
        ),
    )


_LEVELS = (np.arange(EVENTS) + 0.5) / EVENTS


def observe(
    attack: Attack,
    side: int,
    transcripts: int,
    noise: NoiseSource,
    kept: Callable[[Tally, float], VoteTotal],
) -> Transcripts:
    """Return transcripts of one neighbour: votes are shared, summed, shifted, tallied and published."""
    case, votes = attack.case, attack.case.inputs[side]
    outcomes = np.empty((transcripts, 0), dtype=np.int64)
    if attack.queries:
        sums = _shifted(tally(case, votes, transcripts * attack.queries, RING), attack.offset)
        outcomes = drawn(case, sums, noise, RING).reshape(transcripts, attack.queries)
    if attack.publication is None:
        return Transcripts(outcomes)
    total = kept(_voted_on(case, votes, attack.publication.queries), attack.publication.order)
    return Transcripts(outcomes, _published(attack.case, attack.publication, total, transcripts, noise))


def learn(first: Transcripts, second: Transcripts) -> Callable[[Transcripts], Floats]:
    """Return a function that scores transcripts (N,) by how often each neighbour had the same content."""
    both = first, second
    values = 1 + max((int(seen.outcomes.max(initial=0)) for seen in both), default=0)
    told = _log_odds(*(np.bincount(seen.outcomes.ravel(), minlength=values) for seen in both))
    levels = np.linspace(0, 1, BINS + 1)[1:-1]
    published = np.concatenate([seen.published for seen in both])
    edges = np.unique(np.quantile(published, levels)) if published.size else np.empty(0)
    telling = _log_odds(
        *(np.bincount(np.searchsorted(edges, seen.published), minlength=len(edges) + 1) for seen in both)
    )

    def score(seen: Transcripts) -> Floats:
        scores = told[np.minimum(seen.outcomes, values - 1)].sum(axis=1)
        if seen.published.size:
            scores = scores + telling[np.searchsorted(edges, seen.published)]
        return np.asarray(scores)

    return score


def _log_odds(first: NDArray[np.int64], second: NDArray[np.int64]) -> Floats:
    one, other = first + 0.5, second + 0.5
    return np.asarray(np.log(one / one.sum()) - np.log(other / other.sum()))


def _shifted(sums: RingArray, offset: tuple[float, ...]) -> RingArray:
    if not offset:
        return sums
    steps = [int(ldexp(votes, FRACTION_BITS)) % 2**RING.bits for votes in offset]
    return RING.add(sums, np.broadcast_to(np.array(steps, dtype=np.uint64), sums.shape))


def _voted_on(case: Case, votes: NDArray[np.int64], queries: int) -> Tally:
    counts = np.bincount(votes, minlength=case.classes).astype(np.float64)
    return Tally(
        mechanism=case.mechanism,
        classes=case.classes,
        total=case.totals(queries),
        voters=case.teachers,
        votes=np.tile(counts, (queries, 1)),
        answered=np.ones((queries, 1), dtype=np.bool_),
    )


def _kept(tally: Tally, order: float) -> VoteTotal:
    return vote_total(tally, order, 1.0, 1.0, bytes(16))


def _published(
    case: Case, publication: Publication, total: VoteTotal, transcripts: int, noise: NoiseSource
) -> Floats:
    """Return what statements say was spent, in amounts (N,): from nothing to the worst case."""
    besides = round(publication.besides / AMOUNT_UNIT)
    most = besides + round(publication.queries * charged(case, publication.order) / AMOUNT_UNIT)
    chosen = SmoothNoise.by_order(publication.order)

    def draw(scale: float) -> int:
        return int(noise.gaussian(ldexp(scale, -FRACTION_BITS), (1,))[0])

    spent = total.spent + besides
    said = [chosen.publish(spent, total.changes, draw) for _ in range(transcripts)]
    return np.clip(np.array(said, dtype=np.float64), 0, most)


def _divergence(often: float, seldom: float, order: float) -> float:
    """Return D_order of two coins, the first at least as likely, the second at most; 0 if they may be
    equal."""
    if often <= seldom:
        return 0.0
    yes = order * log(often) + (1 - order) * log(seldom)
    no = order * log1p(-often) + (1 - order) * log1p(-seldom) if often < 1 else -inf
    return float(np.logaddexp(yes, no) / (order - 1))


_TIE = voted([5, 4])
"""A tie except for the canary, whose vote decides: the case in which one vote reveals most."""
_TIED = scored([(5, "111"), (4, "000")], "000")
_OTHER = scored([(5, "10"), (4, "01")], "01")
_EVEN = np.array([0.5, 0.5])
_BARELY = voted([10, 5])
"""With a threshold of 9.5 the canary's vote decides whether there is an answer."""
_CLUSTERED = records([[5, 4], [0, 0]], moved_to=(0, 1))
_NEARLY_UNANIMOUS = voted([26, 4] + [0] * 8)
"""Where changes that are not smooth differ most between neighbours, under the noise of its attack."""

ATTACKS: list[Attack] = [
    Attack("gnmax", Case("gnmax", GnMax(sigma=3.0), 2, _TIE), 12),
    Attack(
        "gnmax, sums shifted to a tie",
        Case("gnmax", GnMax(sigma=3.0), 3, voted([9, 0, 0])),
        12,
        offset=(-4.0, 4.0, -60.0),
    ),
    Attack(
        "gnmax, half the ring",
        Case("gnmax", GnMax(sigma=3.0), 3, voted([5, 4, 0], moved_to=2)),
        12,
        offset=(HALF - 5, -4.0, -60.0),
    ),
    Attack(
        "distributed_gnmax", Case("distributed_gnmax", DistributedGnMax(sigma=3.0, honest=3), 2, _TIE), 12
    ),
    Attack("confident", Case("confident", Confident(sigma1=2.0, sigma2=4.0, threshold=9.5), 2, _BARELY), 8),
    Attack(
        "interactive",
        Case(
            "interactive",
            Interactive(sigma1=2.0, sigma2=4.0, threshold=2.0, confidence=0.9),
            2,
            _BARELY,
            _EVEN,
        ),
        8,
    ),
    Attack("lnmax", Case("lnmax", LnMax(gamma=0.25), 2, _TIE), 16),
    Attack(
        "threshold", Case("threshold", Threshold(sigma=3.0, share=0.25), 2, voted([9, 3], moved_to=1)), 12
    ),
    Attack("binary", Case("binary", Binary(sigma=3.0), 3, _TIED), 6),
    Attack(
        "binary, checked",
        Case(
            "binary",
            Binary(sigma=8.0, check=Check(sigma=2.0, threshold=9.5)),
            2,
            scored([(10, "11"), (5, "00")], "00"),
        ),
        6,
    ),
    Attack("tau", Case("tau", Tau(sigma=2.0, tau=1.0), 2, _OTHER), 8),
    Attack("l1", Case("l1", L1(sigma=2.0, tau1=1.0), 2, _OTHER), 8),
    Attack("powerset", Case("powerset", Powerset(sigma=3.0), 2, scored([(5, "11"), (4, "00")], "00")), 12),
    Attack("noise_cluster", Case("noise_cluster", NoiseCluster(sigma=3.0), 2, _CLUSTERED), 12),
    Attack(
        "statement",
        Case("gnmax", GnMax(sigma=7.231), 10, _NEARLY_UNANIMOUS),
        0,
        publication=Publication(order=8.0, queries=200, besides=20.0),
    ),
    Attack(
        "gnmax and statement",
        Case("gnmax", GnMax(sigma=3.0), 2, voted([14, 6])),
        16,
        publication=Publication(order=8.0, queries=16),
    ),
]


def attacks(*names: str) -> list[Attack]:
    """Return the attacks with these names."""
    known = {attack.name: attack for attack in ATTACKS}
    return [known[name] for name in names]
