"""Tickets that schedule cohorts: what a run makes of them, and of those that fit no batch."""

from collections.abc import Callable
from typing import Any

import pytest

from ostraka.client.report.run_report import report
from ostraka.client.session.availability import MAX_DEATHS, FailureLimit
from ostraka.client.session.run_state import load_state
from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.rpc import make_server
from ostraka.common.sharing.ballots import VOTE
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import add_GuardianServicer_to_server
from tests.client.driving import options, right, rows, run, run_of
from tests.client.federation import TEACHERS, FakeGuardian, Federation, refuse
from tests.client.hooks import spending


def apart(grant: common_pb2.Grant) -> None:
    """Every party has two cohorts, of which the second weighs half."""
    for participant in grant.participants:
        low = common_pb2.Cohort(groups=["low"], teachers=1, weight=VOTE, copies=[1])
        high = common_pb2.Cohort(groups=["high"], teachers=TEACHERS - 1, weight=VOTE // 2, copies=[3])
        del participant.cohorts[:]
        participant.cohorts.extend([low, high])


def scheduling(*by_site: tuple[bytes, bytes]) -> Callable[[common_pb2.Ticket], None]:
    """Return a function that puts these bits of both cohorts into a ticket, site by site."""

    def alter(ticket: common_pb2.Ticket) -> None:
        grant = common_pb2.Grant(participants=[one.participant for one in ticket.schedule])
        apart(grant)
        for schedule, participant, bits in zip(ticket.schedule, grant.participants, by_site, strict=True):
            schedule.participant.CopyFrom(participant)
            schedule.queries[:] = bits

    return alter


@pytest.mark.heavy
def test_a_report_counts_for_each_group_what_its_cohort_voted_on(federation: Federation) -> None:
    guardian = federation.guardian
    guardian.alter_grant = apart
    guardian.alter_ticket = scheduling((b"\x80", b""), (b"", b"\x00"), (b"", b""))
    run(federation, options(queries=4, variant="weighting", ballots="unverified"))
    figures = report(run_of(federation))
    assert figures["variant"] == "weighting"
    asked = {
        entry["site"]: [(group["group"], group["asked"]) for group in entry["groups"]]
        for entry in figures["parties"]
    }
    assert asked == {
        "a": [("low", 1), ("high", 4)],
        "b": [("low", 4), ("high", 0)],
        "c": [("low", 4), ("high", 4)],
    }
    costs = {entry["site"]: (entry["group"], entry["epsilon_worst_case"]) for entry in figures["parties"]}
    assert costs["a"] == costs["c"]
    assert costs["a"][0] == "high"
    assert 0 < costs["b"][1] < costs["a"][1]


def test_who_votes_is_kept_before_anybody_is_asked(federation: Federation) -> None:
    seen: list[dict[str, tuple[str, ...]]] = []
    federation.parties["a"].on_vote = lambda _: seen.append(
        load_state(run_of(federation)).batches[-1].schedule
    )
    run(federation, options(queries=4))
    assert seen == [{"a": ("",), "b": ("",), "c": ("",)}]


@pytest.mark.parametrize(
    "by_site",
    [
        ((b"\x80", b"\x40"), (b"\x80", b"\x40"), (b"\xff\xff", b"")),
        ((b"\x00", b"\x00"), (b"", b""), (b"", b"")),
        ((b"\x80", b"\x40"), (b"\x10", b"\x40"), (b"\xe0", b"\x40")),
    ],
    ids=["bits of another size", "a party without a vote", "a query below the quorum"],
)
def test_a_ticket_that_schedules_too_few_is_refused(
    federation: Federation, by_site: tuple[tuple[bytes, bytes], ...]
) -> None:
    federation.guardian.alter_grant = apart
    federation.guardian.alter_ticket = scheduling(*by_site)
    with pytest.raises(OstrakaError) as refused:
        run(federation, options(queries=4))
    assert refused.value.code is ErrorCode.TICKET_INVALID
    assert not federation.parties["a"].voted


def test_a_ticket_for_other_cohorts_than_the_grants_is_refused(federation: Federation) -> None:
    federation.guardian.alter_ticket = scheduling((b"", b""), (b"", b""), (b"", b""))
    with pytest.raises(OstrakaError) as refused:
        run(federation, options(queries=4))
    assert refused.value.code is ErrorCode.TICKET_INVALID


@pytest.mark.parametrize(
    "changes", [{"copies": [1, 1]}, {"groups": [], "copies": []}, {"teachers": TEACHERS + 1}], ids=str
)
def test_a_grant_whose_cohorts_are_not_a_partys_teachers_is_refused(
    federation: Federation, changes: dict[str, Any]
) -> None:
    def alter(grant: common_pb2.Grant) -> None:
        fields = {"groups": ["all"], "teachers": TEACHERS, "weight": VOTE, "copies": [1]} | changes
        grant.participants[0].cohorts[0].CopyFrom(common_pb2.Cohort(**fields))

    federation.guardian.alter_grant = alter
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.GRANT_INVALID


def test_units_that_are_used_up_one_after_the_other_do_not_end_the_run(federation: Federation) -> None:
    """Each of three units takes a batch with it and is left out of the next, as `vanish` has it."""
    guardian = federation.guardian
    guardian.alter_grant = apart
    gone = 0

    def leave_out(ticket: common_pb2.Ticket) -> None:
        scheduling(*[(b"", b"\x00" if place < gone else b"") for place in range(3)])(ticket)

    def use_up() -> None:
        nonlocal gone
        if gone < MAX_DEATHS:
            gone += 1
            raise refuse(ErrorCode.BATCH_DEAD)

    guardian.alter_ticket, guardian.before_release = leave_out, use_up
    assert run(federation, options(ballots="unverified")).stopped is None
    assert rows(federation) == right(10)


def died(limit: FailureLimit, voters: str) -> int:
    """How many of these batches die, one after the other, until it is too many."""
    for count, asked in enumerate(voters):
        if limit.too_many:
            return count
        limit.count(asked)
    return len(voters)


def test_deaths_of_the_same_voters_are_too_many_and_excuses_are_bounded() -> None:
    limit = FailureLimit(cohorts=2)
    assert died(limit, "aaaaaa") == MAX_DEATHS
    limit.clear()
    assert died(limit, "abababab") == 2 + MAX_DEATHS


def test_a_daily_limit_shrinks_the_batch_and_then_stops_the_asking(federation: Federation) -> None:
    federation.guardian.on_batch = spending(6, ErrorCode.POLICY_DAILY_LIMIT, "left")
    result = run(federation)
    assert [request.size for request in federation.guardian.opened] == [4, 2]
    assert (result.answered, result.unasked) == (6, 4)
    assert result.stopped is not None
    assert result.stopped.code == "policy.daily_limit"


class Elsewhere(FakeGuardian):
    """A replica that opens sessions and sends their batches on."""

    address = ""
    asked = 0

    def OpenBatch(self, request: guardian_pb2.OpenBatchRequest, context: Any) -> Any:  # noqa: N802
        self.asked += 1
        raise refuse(ErrorCode.SESSION_ELSEWHERE, address=self.address)


def test_a_session_is_followed_to_the_replica_that_holds_it(federation: Federation) -> None:
    replica = Elsewhere(federation.guardian.credentials, plans=federation.guardian.plans)
    replica.address = federation.addresses["guardian"]
    methods = ("OpenSession", "OpenBatch")
    bound = make_server(
        replica.credentials,
        "127.0.0.1:0",
        [lambda server: add_GuardianServicer_to_server(replica, server)],
        {f"/ostraka.v1.Guardian/{name}": frozenset({Role.QUERY}) for name in methods},
        SystemClock(),
    )
    bound.server.start()
    federation.addresses["guardian"] = bound.address
    federation.write_site()
    run(federation)
    bound.server.stop(None).wait()
    assert rows(federation) == right(10)
    assert replica.asked == 1
