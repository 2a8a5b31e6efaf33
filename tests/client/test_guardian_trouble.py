"""A guardian that refuses, restarts, or says what it should not."""

from typing import Any

import pytest

from ostraka.client.session.run_state import load_state
from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.client.driving import options, right, rows, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.hooks import failing, refusing, spending


def statuses(federation: Federation) -> list[str]:
    return [status for _, _, status in rows(federation)]


def test_a_smaller_batch_is_asked_where_the_budget_says_so(federation: Federation) -> None:
    federation.guardian.on_batch = spending(7)
    result = run(federation)
    assert [request.size for request in federation.guardian.opened] == [4, 3]
    assert sorted(statuses(federation)) == ["answered"] * 7 + ["unasked"] * 3
    assert result.stopped is not None
    assert result.stopped.code == "budget.too_small"
    assert not federation.guardian.closed


def test_a_run_stopped_by_a_budget_goes_on_when_it_can(federation: Federation) -> None:
    federation.guardian.on_batch = refusing(ErrorCode.BUDGET_TOO_SMALL, fits="0")
    result = run(federation)
    assert (result.answered, result.unasked) == (0, 10)
    federation.guardian.on_batch = lambda _: None
    again = run(federation)
    assert again.stopped is None
    assert rows(federation) == right(10)


@pytest.mark.parametrize("fits", ["4", "99", "-1", "many"])
def test_a_size_that_is_no_smaller_ends_the_asking(federation: Federation, fits: str) -> None:
    federation.guardian.on_batch = refusing(ErrorCode.BUDGET_TOO_SMALL, fits=fits)
    result = run(federation)
    assert result.stopped is not None
    assert statuses(federation) == ["unasked"] * 10


def test_an_ended_session_keeps_what_came(federation: Federation) -> None:
    def end() -> None:
        if ("s0", 1) in federation.guardian.answers:
            raise refuse(ErrorCode.SESSION_ENDED)

    federation.guardian.before_release = end
    result = run(federation)
    assert sorted(statuses(federation)) == ["answered"] * 4 + ["unasked"] * 6
    assert result.stopped is not None
    assert result.stopped.code == "session.ended"


def test_a_dead_batch_is_asked_again_under_a_new_id(federation: Federation) -> None:
    died: list[int] = []

    def restart(request: guardian_pb2.PrepareRequest) -> None:
        if request.batch_id == 2:
            died.append(2)
            raise refuse(ErrorCode.BATCH_DEAD)

    federation.guardian.on_prepare = restart
    run(federation)
    assert died == [2]
    assert rows(federation) == right(10)
    batches = load_state(run_of(federation)).batches
    assert [(batch.id, batch.status) for batch in batches] == [
        (1, "released"),
        (2, "dead"),
        (3, "released"),
        (4, "released"),
    ]


@pytest.mark.parametrize(
    ("hook", "code", "batches"),
    [
        ("on_prepare", ErrorCode.BATCH_DEAD, 4),
        ("before_release", ErrorCode.INTERNAL, 4),
        ("on_batch", ErrorCode.POLICY_REFUSED, 0),
    ],
    ids=["dead batches", "failed releases", "a refused session"],
)
def test_what_keeps_failing_ends_the_run_with_its_error(
    federation: Federation, hook: str, code: ErrorCode, batches: int
) -> None:
    """The first two batches that die are open together, and count once."""
    setattr(federation.guardian, hook, refusing(code))
    with pytest.raises(OstrakaError) as failed:
        run(federation)
    assert failed.value.code is code
    assert len(federation.guardian.opened) == batches
    assert load_state(run_of(federation)).batches[0].status == "dead"


def test_a_guardian_that_is_down_is_named(federation: Federation) -> None:
    federation.stop("guardian")
    with pytest.raises(OstrakaError) as down:
        run(federation)
    assert down.value.code is ErrorCode.SERVER_UNREACHABLE
    assert statuses(federation) == ["unasked"] * 10


@pytest.mark.parametrize(
    "altered",
    [
        {"plan_digest": bytes(32)},
        {"querier": "ostraka://test/other/query"},
        {"ring_bits": 32},
        {"protocol_version": "ostraka.v0"},
        {"participants": [common_pb2.Participant(site="stranger", teachers=1)]},
    ],
    ids=lambda altered: next(iter(altered)),
)
def test_a_grant_for_something_else_is_refused(federation: Federation, altered: dict[str, Any]) -> None:
    federation.guardian.alter_grant = lambda grant: grant.MergeFrom(common_pb2.Grant(**altered))
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.GRANT_INVALID
    assert not federation.guardian.opened


def test_a_grant_that_a_party_signed_is_refused(federation: Federation) -> None:
    federation.guardian.credentials = type(federation.guardian.credentials).load(federation.root / "a")
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.IDENTITY_WRONG_ROLE


@pytest.mark.parametrize(
    "altered", [{"session_id": "s9"}, {"batch_id": 9}, {"size": 9}], ids=lambda altered: next(iter(altered))
)
def test_a_ticket_for_another_batch_is_refused(federation: Federation, altered: dict[str, Any]) -> None:
    federation.guardian.alter_ticket = lambda ticket: ticket.MergeFrom(common_pb2.Ticket(**altered))
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.TICKET_INVALID
    assert not federation.parties["a"].voted


@pytest.mark.parametrize(
    "frozen", [None, ["a"], ["a", "a"], ["a", "b", "stranger"]], ids=["not held", "few", "twice", "foreign"]
)
def test_nothing_is_summed_over_an_odd_set(federation: Federation, frozen: list[str] | None) -> None:
    if frozen is None:
        federation.parties["a"].alter_reply = lambda reply: reply.ClearField("seed")
        federation.guardian.on_prepare = lambda request: request.parties.append("a")
    else:
        federation.guardian.alter_frozen = lambda _: frozen
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
    assert not federation.guardian.sums


def test_a_guardian_that_is_back_at_once_is_asked_on(federation: Federation) -> None:
    federation.guardian.before_release = failing(ErrorCode.SERVER_UNREACHABLE, 2)
    run(federation)
    assert rows(federation) == right(10)
    assert ("s0", 1) in federation.guardian.dead


def test_a_ticket_that_was_lost_is_settled_and_asked_again(federation: Federation) -> None:
    federation.guardian.on_batch = failing(ErrorCode.INTERNAL, 1)
    run(federation)
    assert rows(federation) == right(10)
    assert load_state(run_of(federation)).batches[0].status == "dead"


@pytest.mark.parametrize(
    "alter",
    [
        lambda answers: answers[:-1],
        lambda answers: [*answers[:-1], guardian_pb2.Answer(answered=True, label=3)],
    ],
    ids=["number", "class"],
)
def test_answers_that_fit_no_batch_are_not_kept(federation: Federation, alter: Any) -> None:
    federation.guardian.alter_answers = alter
    with pytest.raises(OstrakaError) as refused:
        run(federation)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
    assert statuses(federation) == ["unasked"] * 10


def test_a_grant_that_expires_stops_the_asking(federation: Federation) -> None:
    clock = ManualClock(SystemClock().now())

    def later(_: object) -> None:
        clock.advance(federation.guardian.grant_s)

    result = run(federation, clock=clock, on_progress=later)
    assert result.stopped is not None
    assert result.stopped.code == "grant.expired"


def test_a_clock_an_hour_behind_is_told(federation: Federation) -> None:
    federation.guardian.now = lambda: SystemClock().now() + 3600
    with pytest.raises(OstrakaError) as early:
        run(federation, options(queries=4))
    assert early.value.code is ErrorCode.GRANT_NOT_YET_VALID
    assert "clock" in early.value.message
