"""What a run of sums keeps, through interruptions and damage."""

import secrets
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ostraka.client.session.summed_rounds import ReleasedSum
from ostraka.client.sums.sum_store import STATE_FILE, SumStore, count_records
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Moments
from ostraka.common.plan.fields import DIGEST_BYTES, NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.protos.ostraka.v1 import common_pb2

PLAN = Plan(
    nonce=secrets.token_bytes(NONCE_BYTES),
    task_digest=bytes(DIGEST_BYTES),
    classes=2,
    mechanism=Moments(columns=3, codes=1, sigma=9.0),
    parties=("a", "b"),
    quorum=1,
    queries=2,
    batch_size=1,
)
SUM = np.array([1, -2, 3], np.int64)


def ticket(**scheduled: list[bool]) -> Any:
    """Return a ticket of one round, with two cohorts of each party of 5 records that weigh 1 and 1/2."""
    schedule = [
        common_pb2.Schedule(
            participant=common_pb2.Participant(
                site=site,
                cohorts=[
                    common_pb2.Cohort(records=[5], weight=VOTE),
                    common_pb2.Cohort(records=[5], weight=VOTE // 2),
                ],
            ),
            queries=[b"" if each else b"\x00" for each in cohorts],
        )
        for site, cohorts in scheduled.items()
    ]
    return SimpleNamespace(read=common_pb2.Ticket(size=1, schedule=schedule))


def test_records_count_with_their_weight_where_their_group_takes_part() -> None:
    assert count_records(ticket(a=[True, True], b=[False, True])) == {"a": 7.5, "b": 2.5}


def test_a_sum_is_kept_over_the_records_of_those_who_were_frozen(tmp_path: Path) -> None:
    store = SumStore.create(tmp_path, PLAN.serialize())
    assert store.begin_round() == 1
    store.keep_ticket(ticket(a=[True, True], b=[True, True]))
    store.keep_frozen(["a"])
    again = SumStore.load(tmp_path)
    assert again is not None
    assert again.open_round is not None
    assert again.open_round.frozen == ("a",)
    kept = again.keep_sum(ReleasedSum(1, ("a",), SUM))
    assert (kept.records, kept.parties) == (7.5, ("a",))
    last = SumStore.load(tmp_path)
    assert last is not None
    assert last.open_round is None
    assert last.plan == PLAN
    np.testing.assert_array_equal(last.read_sum(last.state.kept[0], 3), SUM)
    assert last.begin_round() == 2, "a batch id is never used twice"
    last.drop_round()
    assert last.begin_round() == 3


def refusal(call: Any) -> ErrorCode:
    with pytest.raises(OstrakaError) as refused:
        call()
    return refused.value.code


def test_damage_is_told_and_nothing_is_taken_for_a_sum(tmp_path: Path) -> None:
    assert SumStore.load(tmp_path) is None
    store = SumStore.create(tmp_path, PLAN.serialize())
    store.begin_round()
    kept = store.keep_sum(ReleasedSum(1, ("a",), SUM))
    file = tmp_path / "sum-1.i8"
    file.write_bytes(file.read_bytes()[:-1])
    assert refusal(lambda: store.read_sum(kept, 3)) is ErrorCode.RUN_MISMATCH
    file.unlink()
    assert refusal(lambda: store.read_sum(kept, 3)) is ErrorCode.RUN_MISMATCH
    (tmp_path / STATE_FILE).write_text("{")
    assert refusal(lambda: SumStore.load(tmp_path)) is ErrorCode.RUN_MISMATCH
