"""What a call to the guardian loads: its session and batch once, before any share, and little more."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np
import pytest

from ostraka.common.identity import Role
from ostraka.common.sharing.fixed_point import encode
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.blind.querying import CHECK, asked, blind_plan
from tests.guardian.federation import (
    RING,
    Calls,
    Federation,
    framed_ballots,
    framed_sum,
    plan,
    refusal,
    unanimous,
)
from tests.guardian.transactions import Transactions

PATIENCE_S = 20.0
"""After which a guardian that waits for a share is given up."""
T = TypeVar("T")


@contextmanager
def alone(header: T) -> Iterator[Iterator[T]]:
    """Yield the header of a stream, and nothing more for as long as it is open."""
    over = threading.Event()

    def messages() -> Iterator[T]:
        yield header
        over.wait()

    try:
        yield messages()
    finally:
        over.set()


def submitted_header(guardian: Calls, site: str, session: str, batch: int) -> str:
    """Return the error that a site's share is refused with before any of it is sent."""
    sent, _ = framed_ballots(session, batch, encode(np.zeros((20, 4), dtype=np.int64), RING))
    header = guardian_pb2.SubmitBallotsRequest(header=sent)
    stub = guardian.stub(site, Role.PARTY)
    with alone(header) as stream:
        return refusal(lambda: stub.SubmitBallots(stream, timeout=PATIENCE_S))


def released_header(guardian: Calls, site: str, session: str, batch: int) -> str:
    """Return the error that a querying party's sum is refused with before any of it is sent."""
    sent, _ = framed_sum(session, batch, encode(np.zeros((20, 4), dtype=np.int64), RING))
    header = guardian_pb2.ReleaseRequest(header=sent)
    stub = guardian.stub(site, Role.QUERY)
    with alone(header) as stream:
        return refusal(lambda: list(stub.Release(stream, timeout=PATIENCE_S)))


def test_who_may_not_send_a_share_is_refused_before_any_of_it_is_read(guardian: Calls) -> None:
    session = guardian.open(plan(parties=("a", "b"))).session_id
    guardian.ticket(session, 1, 20)
    assert submitted_header(guardian, "c", session, 1) == "ticket.invalid"
    assert submitted_header(guardian, "a", session, 2) == "ticket.invalid"
    assert released_header(guardian, "other", session, 1) == "session.unknown"
    assert released_header(guardian, "other", session, 2) == "session.unknown"
    assert released_header(guardian, "q", session, 2) == "ticket.invalid"
    total = guardian.vote(session, 1, unanimous(20, sites=2), sites=("a", "b"))
    assert len(guardian.release(session, 1, total)) == 20


def test_a_blind_session_takes_no_sum_and_reads_none(guardian: Calls) -> None:
    session = guardian.open(plan(tally="blind", ring_bits=32)).session_id
    guardian.ticket(session, 1, 20)
    assert released_header(guardian, "q", session, 1) == "batch.out_of_order"


def test_a_call_loads_its_session_and_batch_once(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share costs that and the audit head; a release the budgets and the policy beside."""
    transactions = Transactions(monkeypatch)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        share = encode(unanimous(20)[0], RING)
        assert transactions.of(lambda: guardian.submit("a", session, 1, share)) == ["read", "read"]
        guardian.submit("b", session, 1, share)
        guardian.submit("c", session, 1, share)
        assert transactions.of(lambda: guardian.prepare(session, 1)) == ["read"]
        total = np.zeros_like(share)
        assert transactions.before_the_write(lambda: guardian.release(session, 1, total)) <= 3
        assert transactions.of(lambda: guardian.release(session, 1, total)) == ["read", "read"]


def test_a_step_of_a_blind_tally_loads_its_session_once(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its charge costs a look at the budgets beside, and is made once."""
    transactions = Transactions(monkeypatch)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        querying = asked(guardian, blind_plan(), unanimous(2))
        extension = querying.extension(CHECK, 2)
        garble = partial(querying.garble, CHECK, extension)
        assert transactions.of(garble) == ["read", "read", "write"]
        assert transactions.of(garble) == ["read"]


def test_opening_a_batch_reads_few_times_before_it_writes(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    transactions = Transactions(monkeypatch)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        assert transactions.before_the_write(lambda: guardian.ticket(session, 1, 20)) <= 6
