"""A real guardian on ballots that hold the noise of their parties: what it refuses, and what it charges."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.mechanism import DistributedGnMax
from ostraka.common.noise import ExactNoise
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.shares import RowSums, split
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.federation import PARTIES, RING, TEACHERS, Calls, Federation, plan, refusal

START = 1_800_000_000.0

SIZE = 20
NOISED = plan(mechanism=DistributedGnMax(sigma=1.0, honest=2), quorum=3)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START)


@pytest.fixture
def calls(tmp_path: Path, clock: ManualClock) -> Iterator[Calls]:
    with Federation(tmp_path, clock=clock).guardian() as guardian:
        guardian.prepare_all()
        yield guardian


def ask(calls: Calls, sites: tuple[str, ...]) -> list[tuple[bool, int]]:
    """Have these parties vote for class 2 with noise of their own, and return the answers."""
    session = calls.open(NOISED).session_id
    calls.ticket(session, 1, SIZE)
    (draw,) = NOISED.mechanism.party_draws(SIZE, NOISED.classes)
    halves = {}
    for place, site in enumerate(sites):
        ballots = np.zeros((SIZE, NOISED.classes), dtype=np.int64)
        ballots[:, 2] = TEACHERS
        share = RING.add(split(ballots, bytes([place]) * 32, RING), RING.wrap(draw.of(ExactNoise())))
        calls.submit(site, session, 1, share)
        halves[site] = encode(ballots, RING) - split(ballots, bytes([place]) * 32, RING)
    sums = RowSums.of(b"k" * 32, halves, RING)
    reply = calls.query.Prepare(
        guardian_pb2.PrepareRequest(
            session_id=session,
            batch_id=1,
            parties=sites,
            row_sum_key=sums.key,
            row_sums=[sums.digests[site] for site in sites],
        )
    )
    assert (list(reply.frozen), list(reply.refused)) == (list(sites), [])
    return calls.release(session, 1, RING.sum(halves.values()))


def test_rows_that_hold_noise_are_released_and_every_party_pays_for_its_counts(calls: Calls) -> None:
    answers = ask(calls, PARTIES)
    assert len(answers) == SIZE
    assert all(answered for answered, _ in answers)
    assert [calls.spent(site) > 0 for site in PARTIES] == [True] * 3


def test_fewer_parties_than_the_quorum_release_nothing(calls: Calls, clock: ManualClock) -> None:
    session = calls.open(NOISED).session_id
    calls.ticket(session, 1, SIZE)
    for site in PARTIES[:2]:
        calls.submit(site, session, 1, RING.wrap(np.zeros((SIZE, NOISED.classes), dtype=np.int64)))
    clock.advance(31)
    assert refusal(lambda: calls.prepare(session, 1, PARTIES[:2])) == "quorum.lost"
    assert refusal(lambda: calls.release(session, 1, RING.wrap(np.zeros((SIZE, 4), dtype=np.int64))))
    assert [calls.spent(site) for site in PARTIES] == [0.0] * 3


def test_votes_that_nobody_sees_have_no_data_dependent_cost(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nmin_sigma = 0.5\nmin_quorum = 2\n'
    with Federation(tmp_path, policy=policy).guardian() as calls:
        calls.prepare_all()
        assert refusal(lambda: calls.open(NOISED), "noise from the parties hides") == "policy.refused"


@pytest.mark.parametrize(("sigma", "allowed"), [(1.0, True), (0.4, False)])
def test_the_policys_least_noise_is_that_of_the_honest_parties(
    calls: Calls, sigma: float, *, allowed: bool
) -> None:
    asked = plan(mechanism=DistributedGnMax(sigma=sigma, honest=2), quorum=3)
    if allowed:
        assert calls.open(asked).bound == "worst_case"
    else:
        assert refusal(lambda: calls.open(asked), "at least sigma 0.5") == "policy.refused"
