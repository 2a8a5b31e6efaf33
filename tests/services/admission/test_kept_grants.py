"""Plan and grant come once a session; later batches name them, and everything is still held against them."""

import itertools
import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import single_label
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import KEPT
from ostraka.services.hosting.hosting import Orders
from ostraka.services.serving.server import running
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.services.wire import TEACHERS, Ask, Caller, Federation, yesterday
from tests.waiting import until

WAIT_S = 60.0
HOUR_S = 3600


def first(caller: Caller, session_id: str = "session", **changes: Any) -> Ask:
    """Return a session's first batch, which brings plan and grant."""
    asked = caller.ask(caller.federation.task.prepare(digits().X[:3]))
    ticket = caller.ticket(1, 3, session_id=session_id)
    return replace(asked, grant=caller.grant(session_id=session_id, **changes), ticket=ticket)


def later(caller: Caller, asked: Ask, batch_id: int = 2, session_id: str = "session") -> Ask:
    """Return a later batch of the session, which names them."""
    return replace(asked, ticket=caller.ticket(batch_id, 3, session_id=session_id), named=True)


def refused(caller: Caller, asked: Ask) -> ErrorCode:
    answered = len(caller.federation.guardian.submissions)
    with pytest.raises(OstrakaError) as refusal:
        caller.vote(asked)
    assert len(caller.federation.guardian.submissions) == answered
    return refusal.value.code


def outcome(caller: Caller, asked: Ask) -> ErrorCode | None:
    try:
        caller.vote(asked)
    except OstrakaError as error:
        return error.code
    return None


def test_later_batches_need_no_plan_and_grant(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = first(caller)
        caller.vote(asked)
        named = later(caller, asked)
        reply = caller.vote(named)
        votes = single_label(Ensemble.load(attica.party / "teachers").predict(asked.features), 10)
        assert np.array_equal(caller.ballots(reply, 2), votes)
        assert caller.vote(replace(named, named=False)) == reply, "the same batch, however it is asked"


class Silent(Ask):
    """A batch whose features stay away until they may come."""

    may_come = threading.Event()

    def messages(self) -> Iterator[party_pb2.VoteRequest]:
        header, *chunks = super().messages()
        yield header
        assert self.may_come.wait(WAIT_S)
        yield from chunks


def test_a_restarted_party_asks_for_them_before_it_reads_features(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = first(caller)
        caller.vote(asked)
    with attica.serving() as caller:
        named = later(caller, asked)
        silent = Silent(named.features, named.plan, named.grant, named.ticket, named=True)
        assert refused(caller, silent) is ErrorCode.GRANT_UNKNOWN
        silent.may_come.set()
        caller.vote(replace(named, named=False))
        caller.vote(later(caller, asked, 3))


def test_another_querying_partys_grant_cannot_be_named(attica: Federation) -> None:
    """It is refused as if it were not there, whoever has seen the digest."""
    dodona = attica.issue("dodona", Role.QUERY)
    with attica.serving() as caller, attica.calling(caller.address, dodona) as other:
        asked = first(caller)
        caller.vote(asked)
        assert refused(other, later(other, asked)) is ErrorCode.GRANT_UNKNOWN
        own = first(other, "other", querier=dodona.identity.uri)
        other.vote(own)
        assert refused(caller, later(caller, own, session_id="other")) is ErrorCode.GRANT_UNKNOWN
        caller.vote(later(caller, asked))


def test_the_session_used_longest_ago_goes_for_a_new_one_of_its_querying_party(attica: Federation) -> None:
    dodona = attica.issue("dodona", Role.QUERY)
    with attica.serving() as caller, attica.calling(caller.address, dodona) as other:
        theirs = first(other, "theirs", querier=dodona.identity.uri)
        other.vote(theirs)
        asked = {f"s{number}": first(caller, f"s{number}") for number in range(KEPT)}
        for whole in asked.values():
            caller.vote(whole)
        caller.vote(later(caller, asked["s0"], 2, "s0"))
        caller.vote(first(caller, "one more"))
        assert refused(caller, later(caller, asked["s1"], 2, "s1")) is ErrorCode.GRANT_UNKNOWN
        for session in asked.keys() - {"s1"}:
            caller.vote(later(caller, asked[session], 3, session))
        other.vote(later(other, theirs, 2, "theirs"))


def test_a_grant_that_is_over_is_refused_and_goes(attica: Federation) -> None:
    clock = ManualClock(SystemClock().now())
    with attica.serving(clock) as caller:
        asked = first(caller)
        caller.vote(asked)
        clock.advance(HOUR_S + 90)
        assert refused(caller, later(caller, asked)) is ErrorCode.GRANT_EXPIRED
        caller.vote(first(caller, "after", expires_unix_s=2**37))
        assert refused(caller, later(caller, asked)) is ErrorCode.GRANT_UNKNOWN


def test_a_grant_counts_no_longer_once_its_signer_is_revoked(attica: Federation) -> None:
    with (
        running(attica.party, stop=attica.stop, again_s=0.05) as address,
        attica.calling(address) as caller,
    ):
        asked = first(caller)
        caller.vote(asked)
        before, folder = attica.guardian.credentials, attica.root / "renewed"
        folder.mkdir()
        renewed = attica.guardian.signer = attica.ca.issue(before.identity, folder, yesterday())
        attica.guardian.revocations = attica.ca.revoke([before.signing_cert.serial_number], SystemClock())
        until(lambda: attica.guardian.known_revocations[-1] == 1)
        named = replace(asked, ticket=caller.ticket(2, 3, signer=renewed), named=True)
        assert refused(caller, named) is ErrorCode.IDENTITY_REVOKED
        caller.vote(replace(named, grant=caller.grant(signer=renewed), named=False))


def test_a_named_grant_is_held_against_the_teachers_that_vote_now(attica: Federation) -> None:
    orders = Orders()
    serving = running(attica.party, stop=attica.stop, orders=orders)
    with serving as address, attica.calling(address) as caller:
        asked = first(caller)
        caller.vote(asked)
        config = TrainingConfig(teachers=TEACHERS + 1, model="logistic_regression")
        train(digits(), attica.task, config, seed=2).save(attica.party / "teachers")
        orders.put("reload")
        until(lambda: len(attica.guardian.manifests) == 2)
        batches = itertools.count(2)
        until(lambda: outcome(caller, later(caller, asked, next(batches))) is ErrorCode.TICKET_INVALID)


def test_another_plan_under_the_same_grant_changes_nothing(attica: Federation) -> None:
    fields = attica.plan.model_dump(exclude={"mechanism"}) | {"mechanism": attica.plan.mechanism}
    with attica.serving() as caller:
        asked = first(caller)
        caller.vote(asked)
        other = replace(asked, plan=Plan(**(fields | {"quorum": 1})).serialize())
        assert refused(caller, other) is ErrorCode.GRANT_INVALID
        caller.vote(later(caller, asked))


class Both(Ask):
    """A batch that brings plan and grant, and names one."""

    def messages(self) -> Iterator[party_pb2.VoteRequest]:
        (whole, *chunks), (named, *_) = Ask.messages(replace(self, named=False)), super().messages()
        whole.header.grant_sha256 = named.header.grant_sha256
        yield whole
        yield from chunks


def test_a_header_that_brings_and_names_a_grant_is_refused(attica: Federation) -> None:
    with attica.serving() as caller:
        asked = first(caller)
        caller.vote(asked)
        both = Both(asked.features, asked.plan, asked.grant, caller.ticket(2, 3), named=True)
        assert refused(caller, both) is ErrorCode.MESSAGE_INVALID


def test_what_permitted_nothing_is_not_kept(attica: Federation) -> None:
    with attica.serving() as caller:
        forged = replace(first(caller), grant=caller.grant(signer=attica.querier))
        assert refused(caller, forged) is ErrorCode.IDENTITY_WRONG_ROLE
        assert refused(caller, later(caller, forged)) is ErrorCode.GRANT_UNKNOWN
        without = replace(first(caller), ticket=caller.ticket(1, 3, session_id="other"))
        assert refused(caller, without) is ErrorCode.TICKET_INVALID
        assert refused(caller, later(caller, without)) is ErrorCode.GRANT_UNKNOWN


def test_a_ticket_is_of_the_session_whose_grant_is_named(attica: Federation) -> None:
    with attica.serving() as caller:
        one, other = first(caller), first(caller, "other")
        caller.vote(one)
        caller.vote(other)
        mixed = later(caller, one, session_id="other")
        assert refused(caller, mixed) is ErrorCode.TICKET_INVALID
