"""Parties are sent plan and grant once a session, and again where they ask for them, once a batch at most."""

from collections.abc import Callable

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.protos.ostraka.v1 import party_pb2
from tests.client.driving import right, rows, run
from tests.client.federation import FakeParty, Federation, refuse
from tests.signed_lists import own_ticket

Headers = dict[tuple[int, bool], None]
"""Batch by batch, in order: whether plan and grant came with a header. The same header may come twice."""


def noting(party: FakeParty, then: Callable[[int, bool], None] = lambda batch, whole: None) -> Headers:
    """Return the headers that a party takes; `then` may do something about each."""
    headers: Headers = {}

    def note(header: party_pb2.VoteHeader) -> None:
        batch, whole = own_ticket(header.ticket).batch_id, not header.grant_sha256
        assert (bool(header.plan), header.HasField("grant")) == (whole, whole)
        headers[batch, whole] = None
        then(batch, whole)

    party.on_header = note
    return headers


def test_plan_and_grant_travel_once_a_session(federation: Federation) -> None:
    headers = [noting(party) for party in federation.parties.values()]
    run(federation)
    assert rows(federation) == right(10)
    assert [list(came) for came in headers] == [[(1, True), (2, False), (3, False)]] * 3


@pytest.mark.parametrize("forgets_in", [{2}, {3}, {2, 3}])
def test_a_party_that_forgets_is_sent_them_again_and_votes(
    federation: Federation, forgets_in: set[int]
) -> None:
    """Nobody is left out, and every batch is released the first time it is asked."""
    party = federation.parties["b"]

    def forget(batch: int, whole: bool) -> None:
        if batch in forgets_in and not whole:
            party.plans.clear()

    headers = noting(party, forget)
    result = run(federation)
    assert rows(federation) == right(10)
    assert not result.left_out
    assert list(federation.guardian.frozen.values()) == [["a", "b", "c"]] * 3
    asked_again = {(batch, True) for batch in forgets_in}
    assert headers.keys() == {(1, True), (2, False), (3, False)} | asked_again


@pytest.mark.parametrize("knows_until", [1, 2])
def test_a_party_that_asks_for_them_for_ever_is_left_out(federation: Federation, knows_until: int) -> None:
    def insist(batch: int, whole: bool) -> None:
        if batch >= knows_until:
            raise refuse(ErrorCode.GRANT_UNKNOWN)

    headers = noting(federation.parties["b"], insist)
    result = run(federation)
    assert rows(federation) == right(10)
    assert result.left_out["b"].code == "grant.unknown"
    assert list(headers) == [(1, True), (2, False), (2, True)][: 2 * knows_until - 1]
