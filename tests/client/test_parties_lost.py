"""Parties that are down, die, restart, lie or refuse: the quorum decides, and the sums stay right."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from ostraka.client.run import labelling
from ostraka.client.session.batches import HELD_S
from ostraka.client.session.meter import Meter, StepProgress
from ostraka.client.session.run_state import BatchState, RunStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2
from tests.client.driving import options, right, rows, run, session_of
from tests.client.federation import TEACHERS, Federation, refuse
from tests.client.hooks import failing, refusing

WAIT_S = 60.0
STRAGGLES_S = 10.0
LONG_S = 2 * HELD_S


def unavailable(federation: Federation) -> list[list[str]]:
    return [list(request.unavailable) for request in federation.guardian.opened]


@pytest.mark.heavy
def test_a_party_down_at_the_start_is_left_out(either: Federation) -> None:
    either.stop("b")
    result = run(either)
    assert rows(either) == right(10)
    assert unavailable(either) == [["b"]] * 3
    assert {site: stop.code for site, stop in result.left_out.items()} == {"b": "server.unreachable"}


def test_too_few_parties_at_the_start_ask_nothing(federation: Federation) -> None:
    federation.stop("a")
    federation.stop("b")
    with pytest.raises(OstrakaError) as lost:
        run(federation)
    assert lost.value.code is ErrorCode.QUORUM_LOST
    assert "run the same command again" in lost.value.message
    assert "a: [server.unreachable]" in lost.value.message
    assert not federation.guardian.opened
    assert {status for _, _, status in rows(federation)} == {"unasked"}


@pytest.mark.heavy
def test_a_run_goes_on_when_the_parties_are_back(either: Federation) -> None:
    either.stop("a")
    either.stop("b")
    with pytest.raises(OstrakaError):
        run(either)
    either.start("a")
    either.start("b")
    assert run(either).answered == 10
    assert rows(either) == right(10)


def test_a_straggler_is_cut_off_when_the_time_is_over_and_the_quorum_is_in(federation: Federation) -> None:
    """It answers only after the run, which the others' labels are right in."""
    federation.guardian.freeze_s = -3600.0
    told: list[StepProgress] = []
    over = threading.Event()

    def straggle(_: common_pb2.Ticket) -> None:
        over.wait(STRAGGLES_S)

    federation.parties["c"].on_vote = straggle
    try:
        result = run(federation, on_step=told.append)
    finally:
        over.set()
    assert rows(federation) == right(10)
    assert federation.guardian.frozen["s0", 1] == ["a", "b"]
    assert {site: stop.code for site, stop in result.left_out.items()} == {"c": "party.unreachable"}
    assert [(step.step, step.done, step.total) for step in told[:3]] == [("vote", n, 3) for n in range(3)]


def test_stragglers_are_waited_for_where_the_quorum_needs_them(federation: Federation) -> None:
    """The last of three parties answers only once the two others have."""
    federation.guardian.freeze_s = -3600.0
    others = threading.Event()

    def straggle(_: common_pb2.Ticket) -> None:
        assert others.wait(WAIT_S)

    def told(step: StepProgress) -> None:
        if (step.step, step.done) == ("vote", 2):
            others.set()

    federation.parties["c"].on_vote = straggle
    result = run(federation, options(quorum=3), on_step=told)
    assert not result.left_out
    assert rows(federation) == right(10)


def dies_in(federation: Federation, name: str, batch: int) -> Callable[[common_pb2.Ticket], None]:
    def die(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == batch:
            federation.servers[name].stop(None)
            raise refuse(ErrorCode.INTERNAL)

    return die


def test_a_party_dying_in_a_batch_leaves_right_sums_of_the_others(federation: Federation) -> None:
    federation.parties["c"].on_vote = dies_in(federation, "c", batch=2)
    result = run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [[], [], [], ["c"]]
    assert ("s0", 3) in federation.guardian.dead, "the ticket that was held is given back"
    assert not [key for key in federation.parties["a"].voted if key[1] == 3]
    assert federation.guardian.frozen[("s0", 2)] == ["a", "b"]
    assert np.unique(federation.guardian.histograms[("s0", 2)]).tolist() == [0, 2 * TEACHERS]
    assert list(result.left_out) == ["c"]


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return what a run's timer says, as its one entry."""
    now = [0.0]
    monkeypatch.setattr(labelling, "Meter", partial(Meter, timer=lambda: now[0]))
    return now


def test_no_ticket_is_held_where_votes_take_long(federation: Federation, seconds: list[float]) -> None:
    def long(_: common_pb2.Ticket) -> None:
        seconds[0] += LONG_S

    federation.parties["a"].on_vote = long
    federation.parties["c"].on_vote = dies_in(federation, "c", batch=2)
    run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [[], [], ["c"]]


def test_a_ticket_that_was_held_for_long_is_given_back(
    federation: Federation, seconds: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Little of its time is left: parties that are slow, but not too slow, would be cut off."""
    held, store = threading.Event(), RunStore.record_ticket

    def ticketed(self: RunStore, batch: BatchState, schedule: dict[str, tuple[str, ...]]) -> None:
        store(self, batch, schedule)
        if batch.id == 3:
            held.set()

    def long(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 2:
            assert held.wait(WAIT_S)
            seconds[0] += LONG_S

    monkeypatch.setattr(RunStore, "record_ticket", ticketed)
    federation.parties["c"].on_vote = long
    result = run(federation)
    assert ("s0", 3) in federation.guardian.dead
    assert not [key for key in federation.parties["a"].voted if key[1] == 3]
    assert rows(federation) == right(10)
    assert not result.left_out


def test_a_lost_quorum_stops_with_the_labels_that_came(federation: Federation) -> None:
    federation.parties["b"].on_vote = dies_in(federation, "b", batch=2)
    federation.parties["c"].on_vote = dies_in(federation, "c", batch=2)
    with pytest.raises(OstrakaError) as lost:
        run(federation)
    assert lost.value.code is ErrorCode.QUORUM_LOST
    assert ("s0", 2) in federation.guardian.dead
    assert not federation.guardian.sums.get(("s0", 2))
    answered = [row for row in rows(federation) if row[2] != "unasked"]
    assert len(answered) == 4
    assert set(answered) < set(right(10))


@pytest.mark.heavy
def test_a_share_that_misses_the_guardian_is_not_summed(either: Federation) -> None:
    either.parties["b"].submits = False
    result = run(either)
    assert rows(either) == right(10)
    assert either.guardian.frozen[session_of(either), 1] == ["a", "c"]
    assert unavailable(either) == [[], [], ["b"]]
    assert result.left_out["b"].code == "party.unreachable"


def test_a_failed_party_is_tried_again_after_some_batches(federation: Federation) -> None:
    federation.parties["a"].on_vote = failing(ErrorCode.INTERNAL)
    result = run(federation, options(batch_size=1))
    assert unavailable(federation) == [[], *[["a"]] * 5, *[[]] * 4]
    assert not result.left_out


@pytest.mark.heavy
def test_a_party_that_refuses_for_good_is_not_asked_again(federation: Federation) -> None:
    federation.parties["a"].on_vote = refusing(ErrorCode.PARTY_CAP_REACHED)
    result = run(federation, options(batch_size=1))
    assert unavailable(federation) == [[], *[["a"]] * 9]
    assert result.left_out["a"].code == "party.cap_reached"


def test_a_restarted_party_votes_under_a_new_batch_id(federation: Federation) -> None:
    def restarted(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id == 1:
            raise refuse(ErrorCode.BATCH_RESTARTED)

    federation.parties["b"].on_vote = restarted
    run(federation)
    assert rows(federation) == right(10)
    assert ("s0", 1) in federation.guardian.dead
    assert set(map(tuple, federation.guardian.frozen.values())) == {("a", "b", "c")}


@pytest.mark.heavy
def test_a_party_that_restarts_again_later_ends_no_other_batch(federation: Federation) -> None:
    """Others may have paid for what they evaluated in vain."""

    def restarted(ticket: common_pb2.Ticket) -> None:
        if ticket.batch_id in (1, 4):
            raise refuse(ErrorCode.BATCH_RESTARTED)

    federation.parties["b"].on_vote = restarted
    run(federation, options(batch_size=2))
    assert rows(federation) == right(10)
    assert ("s0", 1) in federation.guardian.dead
    assert ("s0", 4) not in federation.guardian.dead
    assert federation.guardian.frozen[("s0", 4)] == ["a", "c"]


@pytest.mark.heavy
def test_a_party_that_keeps_restarting_is_left_out(federation: Federation) -> None:
    federation.parties["b"].on_vote = refusing(ErrorCode.BATCH_RESTARTED)
    run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [[], [], ["b"], ["b"]]


@pytest.mark.parametrize(
    "altered", [{"seed": b"\1" * 31}, {"rows": 3}, {"width": 2}], ids=["seed", "rows", "width"]
)
def test_a_reply_that_fits_no_batch_is_left_out(federation: Federation, altered: dict[str, Any]) -> None:
    def alter(reply: party_pb2.VoteReplyHeader) -> None:
        reply.MergeFrom(party_pb2.VoteReplyHeader(**altered))

    federation.parties["a"].alter_reply = alter
    result = run(federation, options(queries=4))
    assert rows(federation)[:4] == right(4)
    assert federation.guardian.frozen[("s0", 1)] == ["b", "c"]
    assert result.left_out["a"].code == "message.invalid"


def test_a_party_whose_ballots_are_refused_is_left_out_from_then_on(federation: Federation) -> None:
    federation.guardian.refused = frozenset("b")
    result = run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [[], [], ["b"]]
    assert result.left_out["b"].code == "batch.ballots_refused"


def test_another_site_at_a_partys_address_is_left_out(federation: Federation) -> None:
    federation.addresses["b"] = federation.addresses["c"]
    federation.write_site()
    result = run(federation)
    assert rows(federation) == right(10)
    assert result.left_out["b"].code == "identity.wrong_server"


def test_a_vote_is_repeated_while_a_party_is_busy(federation: Federation) -> None:
    federation.parties["a"].on_vote = failing(ErrorCode.PARTY_UNREACHABLE)
    run(federation)
    assert unavailable(federation) == [[], [], []]
