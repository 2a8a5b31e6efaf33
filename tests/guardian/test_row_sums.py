"""Row sums of unverified ballots, checked by a real guardian when it freezes a batch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.mechanism import GnMax
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.shares import RowSums, split
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, RING, TEACHERS, Calls, Federation, plan, refusal

SIZE = 20
KEY = b"k" * 32


@pytest.fixture
def calls(tmp_path: Path) -> Iterator[Calls]:
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all()
        yield guardian


class Batch:
    """A batch on which every party voted for class 2, one of them with more than its votes."""

    def __init__(self, calls: Calls, extra: dict[str, int]) -> None:
        self.calls, self.plan = calls, plan(mechanism=GnMax(sigma=1.0))
        self.session = calls.open(self.plan).session_id
        calls.ticket(self.session, 1, SIZE)
        self.halves: dict[str, RingArray] = {}
        for place, site in enumerate(PARTIES):
            ballots = np.zeros((SIZE, self.plan.classes), dtype=np.int64)
            ballots[:, 2] = TEACHERS
            ballots[7, 1] = extra.get(site, 0)
            share = split(ballots, bytes([place]) * 32, RING)
            calls.submit(site, self.session, 1, share)
            self.halves[site] = encode(ballots, RING) - share

    def prepare(self, **changes: Any) -> guardian_pb2.PrepareReply:
        sums = RowSums.of(KEY, self.halves, RING).digests
        asked: dict[str, Any] = {"row_sum_key": KEY, "row_sums": [sums[site] for site in PARTIES]} | changes
        return self.calls.query.Prepare(
            guardian_pb2.PrepareRequest(session_id=self.session, batch_id=1, parties=PARTIES, **asked)
        )

    def release(self, sites: list[str]) -> list[tuple[bool, int]]:
        return self.calls.release(self.session, 1, RING.sum(self.halves[site] for site in sites))


def test_honest_parties_are_frozen(calls: Calls) -> None:
    batch = Batch(calls, {})
    reply = batch.prepare()
    assert (list(reply.frozen), list(reply.refused)) == (list(PARTIES), [])
    assert batch.release(list(PARTIES)) == [(True, 2)] * SIZE


@pytest.mark.parametrize("votes", [1, 1000, -1, 2**46])
def test_a_party_with_other_than_its_votes_is_left_out_and_pays_nothing(calls: Calls, votes: int) -> None:
    batch = Batch(calls, {"c": votes})
    reply = batch.prepare()
    assert (list(reply.frozen), list(reply.refused)) == (["a", "b"], ["c"])
    assert list(batch.prepare().refused) == ["c"], "a retry is told the same"
    assert batch.release(["a", "b"]) == [(True, 2)] * SIZE
    assert calls.spent("a") > 0
    assert calls.spent("c") == 0
    rows = [row.payload for row in calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    (noted,) = [row for row in rows if "ballots_refused" in row]
    assert '"parties":["c"]' in noted


def test_a_querying_party_that_lies_leaves_parties_out_and_each_is_named_once(calls: Calls) -> None:
    batch = Batch(calls, {})
    for others in (["a"], ["a", "b"]):
        batch.calls.query.Prepare(
            guardian_pb2.PrepareRequest(
                session_id=batch.session,
                batch_id=1,
                parties=others,
                row_sum_key=KEY,
                row_sums=[bytes(16)] * len(others),
            )
        )
    rows = [row.payload for row in calls.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    named = [row for row in rows if "ballots_refused" in row]
    assert ['"parties":["a"]' in row for row in named] == [True, False]
    assert '"parties":["b"]' in named[1]


def test_too_few_honest_parties_lose_the_quorum(calls: Calls) -> None:
    batch = Batch(calls, dict.fromkeys(PARTIES, 1))
    assert refusal(batch.prepare) == "quorum.lost"
    assert calls.spent("a") == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"row_sums": [b"x" * 16]},
        {"row_sums": [b"x"] * len(PARTIES)},
        {"row_sum_key": b""},
        {"row_sum_key": b"k" * 16},
    ],
)
def test_row_sums_of_another_form_are_refused(calls: Calls, changes: dict[str, Any]) -> None:
    batch = Batch(calls, {})
    assert refusal(lambda: batch.prepare(**changes)) == "message.invalid"
    assert list(batch.prepare().frozen) == list(PARTIES)
