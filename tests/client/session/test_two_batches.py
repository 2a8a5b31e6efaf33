"""Two batches at a time: parties vote on one while the one before is released, whichever ends first."""

import threading
from collections.abc import Callable

import pytest

from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.client.driving import right, rows, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.hooks import noting, open_now, refusing, spending

LONG_S = 60.0
"""So long a step waits for the one that is to come first; where it never comes, the test fails."""


def statuses(federation: Federation) -> list[str]:
    return [batch.status for batch in load_state(run_of(federation)).batches]


def voting_first(federation: Federation, then: Callable[[], None] = lambda: None) -> list[bool]:
    """Have the first release wait for votes on the second batch, and `then` fail; whether they came."""
    voted = threading.Event()
    came: list[bool] = []

    def on_vote(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 2:
            voted.set()

    def before_release() -> None:
        if not came:
            came.append(voted.wait(LONG_S))
            then()

    federation.parties["a"].on_vote, federation.guardian.before_release = on_vote, before_release
    return came


def test_parties_vote_on_a_batch_while_the_one_before_it_is_released(federation: Federation) -> None:
    came, at_once = voting_first(federation), noting(federation)
    run(federation)
    assert came == [True]
    assert at_once == [0, 1, 1]
    assert rows(federation) == right(10)
    assert [key for _, key in federation.guardian.answers] == [1, 2, 3]


def test_the_batch_after_it_has_its_ticket_before_a_vote_ends(federation: Federation) -> None:
    ticketed = threading.Event()
    came: list[bool] = []

    def on_batch(request: guardian_pb2.OpenBatchRequest) -> None:
        if request.batch_id == 3:
            ticketed.set()

    def on_vote(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 2:
            came.append(ticketed.wait(LONG_S))

    federation.parties["b"].on_vote, at_once = on_vote, noting(federation, on_batch)
    run(federation)
    assert came == [True]
    assert at_once == [0, 1, 1]
    assert rows(federation) == right(10)


def test_a_release_may_end_before_the_votes_on_the_next_batch(federation: Federation) -> None:
    released, came = threading.Event(), []

    def on_vote(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 2:
            came.append(released.wait(LONG_S))

    federation.parties["b"].on_vote, federation.guardian.after_release = on_vote, released.set
    run(federation)
    assert came == [True]
    assert rows(federation) == right(10)
    assert statuses(federation) == ["released"] * 3


def test_a_batch_that_dies_in_its_release_takes_none_beside_it_along(federation: Federation) -> None:
    died: list[int] = []

    def die() -> None:
        if not died:
            died.append(1)
            raise refuse(ErrorCode.BATCH_DEAD)

    federation.guardian.before_release, at_once = die, noting(federation)
    run(federation)
    assert statuses(federation) == ["dead", "released", "released", "released"]
    assert at_once == [0, 1, 0, 1]
    assert rows(federation) == right(10)


def test_a_batch_that_dies_in_its_votes_leaves_the_release_before_it(federation: Federation) -> None:
    def restarted(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 2:
            raise refuse(ErrorCode.BATCH_RESTARTED)

    came = voting_first(federation)
    federation.parties["c"].on_vote = restarted
    run(federation)
    assert came == [True]
    assert statuses(federation) == ["released", "dead", "released", "released"]
    assert rows(federation) == right(10)


def test_a_budget_for_one_batch_alone_pays_for_as_much_as_one_after_the_other(federation: Federation) -> None:
    """The guardian holds back the whole of each open batch, and refuses what is more."""

    def hold_back(request: guardian_pb2.OpenBatchRequest) -> None:
        if open_now(federation):
            raise refuse(ErrorCode.BUDGET_TOO_SMALL, fits="2")

    at_once = noting(federation, hold_back)
    assert run(federation).stopped is None
    assert at_once == [0, 1, 0, 0]
    assert [request.size for request in federation.guardian.opened] == [4, 4, 2]
    assert rows(federation) == right(10)


def test_a_limit_met_beside_a_batch_stops_the_run_once_that_is_released(federation: Federation) -> None:
    federation.guardian.on_batch = spending(8, ErrorCode.POLICY_DAILY_LIMIT, "left")
    result = run(federation)
    assert result.stopped is not None
    assert (result.stopped.code, result.answered) == ("policy.daily_limit", 8)
    assert statuses(federation) == ["released", "released", "dead", "dead"]


def test_a_session_that_ends_in_a_release_leaves_no_batch_open(federation: Federation) -> None:
    came = voting_first(federation, refusing(ErrorCode.SESSION_ENDED))
    result = run(federation)
    assert came == [True]
    assert result.stopped is not None
    assert result.stopped.code == "session.ended"
    assert statuses(federation) == ["dead", "dead"]


@pytest.mark.parametrize("enforce", ["worst_case", "data_dependent"])
def test_budgets_that_hold_nothing_back_have_one_batch_at_a_time(
    federation: Federation, enforce: str
) -> None:
    def alter(grant: common_pb2.Grant) -> None:
        grant.enforce = enforce

    federation.guardian.alter_grant, at_once = alter, noting(federation)
    run(federation)
    assert max(at_once) == (1 if enforce == "worst_case" else 0)
