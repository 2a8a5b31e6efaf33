import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.schedules import read_schedule
from ostraka.protos.ostraka.v1 import common_pb2

LOW = common_pb2.Cohort(groups=["low"], teachers=2, weight=65536)
HIGH = common_pb2.Cohort(groups=["high"], teachers=3, weight=65536)


def schedule(*queries: bytes) -> common_pb2.Schedule:
    participant = common_pb2.Participant(site="athens", cohorts=[LOW, HIGH])
    return common_pb2.Schedule(participant=participant, queries=queries)


def test_bits_say_who_votes_on_what_and_no_bits_on_everything() -> None:
    votes = read_schedule(schedule(b"\xa0\x40", b""), 10)
    assert votes.tolist() == [[True, False, True] + [False] * 6 + [True], [True] * 10]


@pytest.mark.parametrize(
    "queries",
    [(b"\xff\xc0",), (b"", b"", b""), (b"\xff", b""), (b"\xff\xff\xff", b""), (bytes(2), bytes(2))],
    ids=["a cohort is missing", "a cohort is too many", "few bits", "many bits", "nobody votes"],
)
def test_bits_that_fit_no_batch_are_refused(queries: tuple[bytes, ...]) -> None:
    with pytest.raises(OstrakaError) as refused:
        read_schedule(schedule(*queries), 10)
    assert refused.value.code is ErrorCode.TICKET_INVALID
