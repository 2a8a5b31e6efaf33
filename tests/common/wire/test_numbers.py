"""Numbers of messages that mean nothing, wherever in a message they are."""

import math
import sys

import pytest
from google.protobuf.message import Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import LAST_UNIX_S, MAX_INTEGER, check_numbers
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2, site_pb2


def events(time_unix_ms: int, batch_id: int = 0) -> admin_pb2.BudgetEvents:
    fine = admin_pb2.BudgetEvent(time_unix_ms=1)
    return admin_pb2.BudgetEvents(
        rows=[fine, admin_pb2.BudgetEvent(time_unix_ms=time_unix_ms, batch_id=batch_id)]
    )


def headed(sequence: int) -> guardian_pb2.SubmitBallotsReply:
    return guardian_pb2.SubmitBallotsReply(audit_head=common_pb2.AuditHead(sequence=sequence))


@pytest.mark.parametrize(
    "message",
    [
        site_pb2.AboutReply(),
        site_pb2.AboutReply(expires_unix_s=LAST_UNIX_S, time_unix_ms=1000 * LAST_UNIX_S),
        headed(MAX_INTEGER),
        events(1000 * LAST_UNIX_S, MAX_INTEGER),
        guardian_pb2.StandingReply(queries_left=MAX_INTEGER),
        guardian_pb2.PlanReply(scale=sys.float_info.max, voters=-sys.float_info.max),
    ],
)
def test_numbers_that_mean_something_are_taken(message: Message) -> None:
    check_numbers(message)


@pytest.mark.parametrize(
    "message",
    [
        site_pb2.AboutReply(expires_unix_s=LAST_UNIX_S + 1),
        site_pb2.AboutReply(expires_unix_s=-1),
        site_pb2.AboutReply(time_unix_ms=1000 * LAST_UNIX_S + 1),
        site_pb2.AboutReply(revocations=MAX_INTEGER + 1),
        headed(MAX_INTEGER + 1),
        events(-1),
        events(1, MAX_INTEGER + 1),
        guardian_pb2.StandingReply(queries_left=MAX_INTEGER + 1),
        *(guardian_pb2.PlanReply(scale=value) for value in (math.inf, -math.inf, math.nan)),
        admin_pb2.SetBudgetReply(budget=admin_pb2.Budget(epsilon_worst_case=math.nan)),
    ],
)
def test_numbers_that_mean_nothing_are_refused(message: Message) -> None:
    with pytest.raises(OstrakaError) as refused:
        check_numbers(message)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
