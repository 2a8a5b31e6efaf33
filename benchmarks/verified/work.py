"""Processor time and bytes of one party's ballots, verified and unverified."""

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism.mechanism import Draw
from ostraka.common.mechanism.record_sums import Block
from ostraka.common.noise import ExactNoise
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import VOTE, BallotFormat, ClassCounts
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import expand, split
from ostraka.common.sums.sensitivity import MOVED_CODES
from ostraka.common.verified.layout import Layout, layout_of
from ostraka.common.verified.noised_parts import claim_noised, draw_bounded
from ostraka.common.verified.prover import Prover
from ostraka.common.verified.querier import Point, count_shares, message
from ostraka.common.verified.sum_parts import SumPart, claim_norm, largest_norm
from ostraka.common.verified.verifier import Submission, accepts
from ostraka.common.verified.verifier import count_shares as guardian_shares
from ostraka.protos.ostraka.v1 import common_pb2

QUERIES = 1000  # enough that one-time work is negligible
REPEATS = 9  # odd, so the median is one of them
CONTEXT = b"benchmark"


@dataclass(frozen=True)
class Steps:
    """Processor seconds of each side, median of several runs.

    Attributes:
        party: sharing, including the proof.
        point: the querying party's work once per batch for all parties, and also the guardian's.
        querier: its verifier share and its shares of counts.
        guardian: reading, checking and its shares of counts; unverified, reading and adding.
    """

    party: float
    point: float
    querier: float
    guardian: float


Said = tuple[Layout, NDArray[np.int64]]
"""What a party proves, and its counts."""


def measure_verified(layout: Layout, counts: NDArray[np.int64]) -> Steps:
    """Measure verified ballots of one party, and check that they are accepted."""
    return _median(lambda clock: _run_verified([layout], [counts], clock))


def measure_plain(counts: NDArray[np.int64]) -> Steps:
    """Measure the same ballots in Z_2^64."""
    return _median(lambda clock: _run_unverified(counts, clock))


def draw(ballot: BallotFormat, classes: int, teachers: int, bits: int) -> Said:
    """Return the layout of verified ballots, and counts for it from teachers that vote at random."""
    rng = np.random.default_rng(0)
    statement = ballot.claim(QUERIES, classes, teachers)
    assert statement is not None
    shape = teachers, QUERIES
    votes = rng.integers(classes, size=shape) if ballot.one_choice else rng.random((*shape, classes))
    counts = ballot.verifiable.count(votes, classes) * (VOTE / ballot.verifiable.unit)
    return layout_of(statement, PrimeField(bits)), counts.astype(np.int64)


def draw_noised(sigma: float, classes: int, teachers: int, bits: int) -> Said:
    """Return the layout of ballots for one class with a party's noise of `sigma` votes, and counts for it."""
    _, counts = draw(ClassCounts(), classes, teachers, bits)
    drawn = [Draw.gaussian(sigma, QUERIES, classes)]
    noised = VOTE * (counts + draw_bounded(drawn, ExactNoise()))
    claim = claim_noised(drawn, QUERIES, teachers * VOTE)
    return layout_of(claim, PrimeField(bits)), noised.astype(np.int64)


def draw_sum(values: int, records: int) -> Said:
    """Return the layout of a verified sum of one block, and counts for it, with the maximum norm."""
    cohort = common_pb2.Cohort(weight=VOTE, records=[records], groups=["all"])
    statement = claim_norm(values, largest_norm(Block(values, MOVED_CODES, 1.0), [cohort]), PrimeField(61))
    assert statement is not None
    part = SumPart(slice(0, values), layout_of(statement, PrimeField(61)))
    drawn = np.random.default_rng(0).normal(size=(1, values))
    steps = np.rint(drawn * (records * VOTE / np.linalg.norm(drawn)))
    return part.layout, part.counts(np.ldexp(steps, -FRACTION_BITS))


def _run_verified(
    layouts: Sequence[Layout], counts: Sequence[NDArray[np.int64]], clock: Callable[[], None]
) -> None:
    seed, blind_seed, challenge = (secrets.token_bytes(32) for _ in range(3))
    clock()
    prover = Prover(layouts, counts, CONTEXT, seed, blind_seed)
    proof = prover.prove(challenge)
    clock()
    point = Point(secrets.token_bytes(32))
    for layout in layouts:
        point.evaluation(layout)
    clock()
    told = message(layouts, CONTEXT, seed, point)
    count_shares(layouts, CONTEXT, seed)
    clock()
    submission = Submission.read(layouts, prover.guardian_share, prover.commitment, blind_seed)
    good = accepts(layouts, CONTEXT, submission, challenge, proof, point, prover.commitment, told)
    guardian_shares(layouts, submission)
    clock()
    assert good


def _run_unverified(counts: NDArray[np.int64], clock: Callable[[], None]) -> None:
    ring = Ring(64)
    seed = secrets.token_bytes(32)
    rows, width = counts.shape
    clock()
    sent = ring.to_bytes(split(counts, seed, ring))
    clock()
    clock()
    querying = expand(seed, rows, width, ring)
    clock()
    total = np.zeros_like(querying)
    total += ring.from_bytes(sent, rows, width)
    clock()
    assert np.array_equal(ring.lift(total + querying) >> FRACTION_BITS, counts)


def _median(run: Callable[[Callable[[], None]], None]) -> Steps:
    runs = []
    for _ in range(REPEATS):
        times: list[float] = []

        def clock(times: list[float] = times) -> None:
            times.append(time.process_time())

        run(clock)
        runs.append(np.diff(times))
    return Steps(*np.median(runs, axis=0).tolist())
