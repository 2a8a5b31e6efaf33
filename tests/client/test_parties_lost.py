"""Parties that are down, die, restart, lie or refuse: the quorum decides, and the sums stay right."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from common.errors import ErrorCode, OstrakaError
from protos.ostraka.v1 import common_pb2, party_pb2
from tests.client.driving import options, right, rows, run
from tests.client.federation import TEACHERS, Federation, refuse


def unavailable(federation: Federation) -> list[list[str]]:
    return [list(request.unavailable) for request in federation.guardian.opened]


def test_a_party_down_at_the_start_is_left_out(federation: Federation) -> None:
    federation.stop("b")
    result = run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [["b"]] * 3
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


def test_a_run_goes_on_when_the_parties_are_back(federation: Federation) -> None:
    federation.stop("a")
    federation.stop("b")
    with pytest.raises(OstrakaError):
        run(federation)
    federation.start("a")
    federation.start("b")
    assert run(federation).answered == 10
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
    assert unavailable(federation) == [[], [], ["c"]]
    assert federation.guardian.frozen[("s0", 2)] == ["a", "b"]
    assert np.unique(federation.guardian.histograms[("s0", 2)]).tolist() == [0, 2 * TEACHERS]
    assert list(result.left_out) == ["c"]


def test_a_lost_quorum_stops_with_the_labels_that_came(federation: Federation) -> None:
    federation.parties["b"].on_vote = dies_in(federation, "b", batch=2)
    federation.parties["c"].on_vote = dies_in(federation, "c", batch=2)
    with pytest.raises(OstrakaError) as lost:
        run(federation)
    assert lost.value.code is ErrorCode.QUORUM_LOST
    assert ("s0", 2) in federation.guardian.dead
    assert not federation.guardian.sums.get(("s0", 2))
    assert rows(federation)[:4] == right(4)
    assert {status for _, _, status in rows(federation)[4:]} == {"unasked"}


def test_a_share_that_misses_the_guardian_is_not_summed(federation: Federation) -> None:
    federation.parties["b"].submits = False
    result = run(federation)
    assert rows(federation) == right(10)
    assert federation.guardian.frozen[("s0", 1)] == ["a", "c"]
    assert unavailable(federation) == [[], ["b"], ["b"]]
    assert result.left_out["b"].code == "party.unreachable"


def test_a_failed_party_is_tried_again_after_some_batches(federation: Federation) -> None:
    failing = [True]

    def fail_once(_: common_pb2.Ticket) -> None:
        if failing:
            failing.clear()
            raise refuse(ErrorCode.INTERNAL)

    federation.parties["a"].on_vote = fail_once
    result = run(federation, options(batch_size=1))
    assert unavailable(federation) == [[], *[["a"]] * 5, *[[]] * 4]
    assert not result.left_out


def test_a_party_that_refuses_for_good_is_not_asked_again(federation: Federation) -> None:
    def refuse_all(_: common_pb2.Ticket) -> None:
        raise refuse(ErrorCode.PARTY_CAP_REACHED)

    federation.parties["a"].on_vote = refuse_all
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


def test_a_party_that_keeps_restarting_is_left_out(federation: Federation) -> None:
    def restarted(_: common_pb2.Ticket) -> None:
        raise refuse(ErrorCode.BATCH_RESTARTED)

    federation.parties["b"].on_vote = restarted
    run(federation)
    assert rows(federation) == right(10)
    assert unavailable(federation) == [[], [], [], ["b"], ["b"]]


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


def test_another_site_at_a_partys_address_is_left_out(federation: Federation) -> None:
    federation.addresses["b"] = federation.addresses["c"]
    federation.write_site()
    result = run(federation)
    assert rows(federation) == right(10)
    assert result.left_out["b"].code == "identity.wrong_server"


def test_a_vote_is_repeated_while_a_party_is_busy(federation: Federation) -> None:
    busy = [True]

    def once(_: common_pb2.Ticket) -> None:
        if busy:
            busy.clear()
            raise refuse(ErrorCode.PARTY_UNREACHABLE)

    federation.parties["a"].on_vote = once
    run(federation)
    assert unavailable(federation) == [[], [], []]
