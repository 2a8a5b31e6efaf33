"""The real release path: votes counted by parties, shared, summed, noise in the ring, answers."""

from collections.abc import Iterator
from math import prod

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import NoiseCluster, RandRes, RandResLabels
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import expand, fresh_seed
from ostraka.common.verified.expansion import expand as expand_in_field
from ostraka.guardian.mechanisms import release
from ostraka.guardian.noise import NoiseSource
from tests.privacy.cases import CLUSTERS, Case, Votes
from tests.services.holding import holding

PARTIES = 3
MODULI: tuple[Modulus, ...] = (Ring(32), PrimeField(31), Ring(64), PrimeField(61))
"""Used in turn: the modulus of sums changes the word width, but no outcome."""
_AT_ONCE = 10_000


def tally(case: Case, votes: Votes, times: int, ring: Modulus) -> RingArray:
    """Return the sum of both halves of the shares of one input, queried `times` times: (times * rows,
    width)."""
    guardian, querier = [], []
    parts = np.array_split(votes, PARTIES), np.array_split(case.votes, PARTIES)
    for part, weights in zip(*parts, strict=True):
        ballot = _ballots(case, part, weights, times)
        own = _uniform(ballot.shape, ring)
        guardian.append(ring.subtract(encode(ballot, ring), own))
        querier.append(own)
    return ring.sum([*guardian, *querier])


def _uniform(shape: tuple[int, ...], ring: Modulus) -> RingArray:
    """Return the querying party's share of ballots, expanded from a new seed."""
    seed, (rows, width) = fresh_seed(), shape
    if isinstance(ring, PrimeField):
        return expand_in_field(ring, "digits", b"audit", 0, seed, rows, width)
    return expand(seed, rows, width, ring)


def _ballots(case: Case, votes: Votes, weights: NDArray[np.float64], times: int) -> NDArray[np.number]:
    """Return a party's ballots, queried `times` times: (times * rows, width)."""
    if isinstance(case.mechanism, RandRes | RandResLabels):
        return _responses(case, case.mechanism, votes, times)
    return np.tile(_ballot(case, votes, weights), (times, 1))


def _responses(
    case: Case, mechanism: RandRes | RandResLabels, votes: Votes, times: int
) -> NDArray[np.float64]:
    """Return the output of a party's code for records that are each queried once, `times` times over."""
    every = np.arange(times)
    X = np.column_stack([np.repeat(every, len(votes)), np.tile(votes[:, 0], times)])
    queries = np.column_stack([np.repeat(every, CLUSTERS), np.tile(np.arange(CLUSTERS), times)])
    cohorts, scheduled = np.zeros(len(X), dtype=np.int64), np.ones((1, len(queries)), dtype=np.bool_)
    y = np.tile(votes[:, 1:], (times, 1))
    if isinstance(mechanism, RandResLabels):
        several = holding(X.astype(np.float32), y, cohorts, case.classes)
        return several.label_responses(queries.astype(np.float32), scheduled, (), mechanism.epsilon)
    records = holding(X.astype(np.float32), y[:, 0], cohorts, case.classes)
    return records.responses(queries.astype(np.float32), scheduled, mechanism.epsilon)


def _ballot(case: Case, votes: Votes, weights: NDArray[np.float64]) -> NDArray[np.number]:
    if isinstance(case.mechanism, NoiseCluster):
        counts = np.zeros((CLUSTERS, case.classes), dtype=np.int64)
        np.add.at(counts, tuple(votes.T), 1)
        return counts
    alike = [
        case.mechanism.ballot.count(votes[weights == weight][:, None], case.classes, int(weight * VOTE))
        for weight in np.unique(weights)
    ]
    return np.asarray(np.sum(alike, axis=0))


def drawn(case: Case, sums: RingArray, noise: NoiseSource, ring: Modulus) -> NDArray[np.int64]:
    """Return the outcome of each query, or of each batch of clusters, in the order of `Case.digits`."""
    scores = np.tile((case.scores * VOTE).astype(np.int64), (len(sums), 1))
    for draw in (case.mechanism.relied_on or 0) * case.mechanism.party_draws(*sums.shape):
        sums = ring.add(sums, ring.wrap(draw.of(noise)))
    answers = release(
        sums,
        case.mechanism,
        noise,
        ring,
        classes=case.classes,
        totals=(case.totals(len(sums)) * VOTE).astype(np.int64),
        scores=scores,
    )
    digits = answers.labels.reshape(-1, len(case.digits)) + 1
    return np.asarray(np.ravel_multi_index(tuple(digits.T), case.digits), dtype=np.int64)


def sample(case: Case, votes: Votes, times: int, noise: NoiseSource, ring: Modulus) -> NDArray[np.int64]:
    """Return how often each outcome occurred in `times` releases."""
    counts = np.zeros(prod(case.digits), dtype=np.int64)
    for portion in _portions(times):
        found = drawn(case, tally(case, votes, portion, ring), noise, ring)
        counts += np.bincount(found, minlength=len(counts))
    return counts


def _portions(times: int) -> Iterator[int]:
    while times > 0:
        yield min(times, _AT_ONCE)
        times -= _AT_ONCE
