"""Replicas on loopback that send a session on to whoever holds it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import BoundServer, call_error, make_server, open_channel, redirect
from ostraka.common.rpc.redirect import HOPS, Replicas
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import (
    GuardianServicer,
    GuardianStub,
    add_GuardianServicer_to_server,
)
from tests.common.federation import GUARDIAN, QUERIER, Federation
from tests.fair_clock import HANGS_S

ROLES = {"/ostraka.v1.Guardian/CloseSession": frozenset({Role.QUERY})}


@dataclass
class Replica(GuardianServicer):
    """Closes sessions, but sends those of `elsewhere` on."""

    elsewhere: dict[str, str] = field(default_factory=dict)
    called: list[str] = field(default_factory=list)

    def CloseSession(self, request: pb.CloseSessionRequest, context: Any) -> pb.CloseSessionReply:  # noqa: N802
        self.called.append(request.session_id)
        if request.session_id in self.elsewhere:
            address = self.elsewhere[request.session_id]
            raise OstrakaError(ErrorCode.SESSION_ELSEWHERE, f"Ask {address}.", address=address)
        return pb.CloseSessionReply()


@dataclass
class Site:
    """Two replicas of one guardian and a caller whose home is the first."""

    federation: Federation
    first: Replica = field(default_factory=Replica)
    second: Replica = field(default_factory=Replica)
    servers: list[BoundServer] = field(default_factory=list)

    def serve(self, replica: Replica, credentials: Credentials | None = None) -> str:
        bound = make_server(
            credentials or self.federation.issue(GUARDIAN),
            "127.0.0.1:0",
            [lambda server: add_GuardianServicer_to_server(replica, server)],
            ROLES,
            SystemClock(),
        )
        bound.server.start()
        self.servers.append(bound)
        return bound.address

    def replicas(self, home: str) -> Replicas:
        return Replicas(partial(open_channel, self.federation.issue(QUERIER), expected=GUARDIAN), home)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(Federation(tmp_path / "federation"))
    yield made
    for bound in made.servers:
        bound.server.stop(None).wait()


def close(replicas: Replicas, session: str) -> ErrorCode | None:
    def make(channel: grpc.Channel) -> pb.CloseSessionReply:
        return GuardianStub(channel).CloseSession(pb.CloseSessionRequest(session_id=session), timeout=HANGS_S)

    try:
        replicas.call(make, session)
    except grpc.RpcError as error:
        return call_error(error).code
    return None


def test_a_session_is_followed_and_its_place_remembered(site: Site) -> None:
    home = site.serve(site.first)
    site.first.elsewhere["s"] = site.serve(site.second)
    replicas = site.replicas(home)
    assert [close(replicas, name) for name in ("s", "s", "t")] == [None, None, None]
    assert (site.first.called, site.second.called) == (["s", "t"], ["s", "s"])
    replicas.close()


def test_replicas_that_send_a_call_round_and_round_end_it(site: Site) -> None:
    home = site.serve(site.first)
    site.first.elsewhere["s"] = site.serve(site.second)
    site.second.elsewhere["s"] = home
    replicas = site.replicas(home)
    assert close(replicas, "s") is ErrorCode.SESSION_ELSEWHERE
    assert len(site.first.called) + len(site.second.called) == HOPS + 1
    replicas.close()


def test_a_session_whose_replica_died_is_looked_for_at_home(site: Site) -> None:
    home = site.serve(site.first)
    site.first.elsewhere["s"] = site.serve(site.second)
    replicas = site.replicas(home)
    assert close(replicas, "s") is None
    site.servers[1].server.stop(None).wait()
    assert close(replicas, "s") is ErrorCode.SERVER_UNREACHABLE
    del site.first.elsewhere["s"]
    assert close(replicas, "s") is None
    assert site.first.called == ["s", "s"]
    replicas.close()


def test_another_server_at_the_address_told_is_not_asked(site: Site) -> None:
    home = site.serve(site.first)
    hades = site.federation.issue(Identity(GUARDIAN.federation, "hades", Role.GUARDIAN))
    site.first.elsewhere["s"] = site.serve(site.second, hades)
    replicas = site.replicas(home)
    assert close(replicas, "s") is ErrorCode.IDENTITY_WRONG_SERVER
    assert not site.second.called
    replicas.close()


def test_so_many_sessions_are_remembered_and_no_more(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redirect, "REMEMBERED", 2)
    away = site.serve(site.second)
    site.first.elsewhere = dict.fromkeys("stu", away)
    replicas = site.replicas(site.serve(site.first))
    for session in "stu":
        assert close(replicas, session) is None
    assert close(replicas, "t") is None
    assert site.first.called == ["s", "t", "u"]
    assert close(replicas, "s") is None
    assert site.first.called == ["s", "t", "u", "s"]


def test_a_replica_without_an_address_is_not_looked_for(site: Site) -> None:
    home = site.serve(site.first)
    site.first.elsewhere["s"] = ""
    replicas = site.replicas(home)
    assert close(replicas, "s") is ErrorCode.SESSION_ELSEWHERE
    assert site.first.called == ["s"]
    replicas.close()


def test_a_call_that_finds_a_home_away_begins_at_the_next_one(site: Site) -> None:
    first, second = site.serve(site.first), site.serve(site.second)
    replicas = site.replicas(f"{first}, {second}")
    site.servers[0].server.stop(None).wait()
    assert [close(replicas, name) for name in "aab"] == [ErrorCode.SERVER_UNREACHABLE, None, None]
    assert site.second.called == ["a", "b"]
    replicas.close()


def test_homes_must_be_addresses(site: Site) -> None:
    with pytest.raises(OstrakaError, match="is not an address"):
        site.replicas("127.0.0.1:1,nowhere")
