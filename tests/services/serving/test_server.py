from dataclasses import replace
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from ostraka.common.clock import SystemClock
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role, verify_signed
from ostraka.common.rpc import call_error
from ostraka.common.task import infer_task, write_task
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.deploy.simulation.processes import Start
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from tests.fair_clock import HANGS_S
from tests.services.process import process
from tests.services.wire import FEDERATION, TEACHERS, Ask, Caller, Federation


def two_queries(caller: Caller) -> Ask:
    return caller.ask(caller.federation.task.prepare(digits().X[:2]))


def start_failure(attica: Federation) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused, attica.serving():
        pass
    return refused.value


def rewrite(attica: Federation, old: str, new: str) -> None:
    path = attica.party / "site.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_the_manifest_says_what_one_person_can_change_and_is_signed(attica: Federation) -> None:
    with (attica.party / "site.toml").open("a") as file:
        file.write("\n[party]\nmax_votes_per_person = 2\n")
    with attica.serving():
        (signed,) = attica.guardian.manifests
    verify_signed(
        signed,
        MANIFEST_CONTEXT,
        ca_pem=attica.querier.ca_pem,
        clock=SystemClock(),
        federation=FEDERATION,
        role=Role.PARTY,
        site="athens",
    )
    manifest = common_pb2.Manifest.FromString(signed.payload)
    assert manifest.task_digest == attica.task.digest
    assert manifest.max_votes_per_person == 2
    (group,) = manifest.groups
    assert (group.name, group.records, group.teachers) == ("all", len(digits().X), TEACHERS)


def test_a_party_waits_for_a_guardian_that_is_not_up_yet(attica: Federation) -> None:
    attica.guardian.stop()
    attica.stop.instead = attica.bring_guardian_back
    with attica.serving() as caller:
        caller.vote(two_queries(caller))
    assert len(attica.guardian.manifests) == 1


def test_another_server_at_the_guardians_address_gets_no_manifest(attica: Federation) -> None:
    attica.guardian.stop()
    attica.guardian.credentials = attica.issue("hades", Role.GUARDIAN)
    attica.guardian.start()
    assert start_failure(attica).code is ErrorCode.IDENTITY_WRONG_SERVER
    assert not attica.guardian.manifests


def test_only_querying_parties_may_ask_for_votes(attica: Federation) -> None:
    with attica.serving() as caller:
        for role in (Role.PARTY, Role.GUARDIAN, Role.ADMIN):
            with attica.calling(caller.address, attica.issue("thebes", role)) as other:
                with pytest.raises(OstrakaError) as refused:
                    other.vote(two_queries(other))
                assert refused.value.code is ErrorCode.IDENTITY_WRONG_ROLE


def test_health_and_reflection_answer(attica: Federation) -> None:
    with attica.serving() as caller:
        health_stub: Any = health_pb2_grpc.HealthStub(caller.channel)
        reflection_stub: Any = reflection_pb2_grpc.ServerReflectionStub(caller.channel)
        health = health_stub.Check(health_pb2.HealthCheckRequest(service="ostraka.v1.Party"))
        (listed,) = reflection_stub.ServerReflectionInfo(
            iter([reflection_pb2.ServerReflectionRequest(list_services="")])
        )
    assert health.status == health_pb2.HealthCheckResponse.SERVING
    assert "ostraka.v1.Party" in {service.name for service in listed.list_services_response.service}


def test_a_vote_without_a_header_is_refused(attica: Federation) -> None:
    with attica.serving() as caller:
        call: Any = caller.channel.stream_stream("/ostraka.v1.Party/Vote")
        with pytest.raises(grpc.RpcError) as refused:
            list(call(iter([b""])))
    assert call_error(refused.value).code is ErrorCode.MESSAGE_INVALID


def test_without_tls_grants_are_checked_all_the_same(attica: Federation) -> None:
    attica.insecure = True
    attica.guardian.stop()
    attica.guardian.start(insecure=True)
    with attica.serving() as caller:
        caller.vote(two_queries(caller))
        with pytest.raises(OstrakaError) as refused:
            caller.vote(replace(two_queries(caller), grant=caller.grant(signer=attica.querier)))
    assert refused.value.code is ErrorCode.IDENTITY_WRONG_ROLE


def test_without_tls_nothing_but_loopback_is_served(attica: Federation) -> None:
    attica.insecure = True
    rewrite(attica, "127.0.0.1:0", "0.0.0.0:0")
    assert start_failure(attica).code is ErrorCode.SERVER_INSECURE_REFUSED


def test_teachers_of_another_task_do_not_serve(attica: Federation) -> None:
    write_task(infer_task(digits(), "numerals"), attica.party / "task.toml")
    assert start_failure(attica).code is ErrorCode.TASK_MISMATCH


def test_a_party_without_teachers_does_not_serve(attica: Federation) -> None:
    (attica.party / "teachers" / "manifest.json").unlink()
    assert start_failure(attica).code is ErrorCode.MODEL_INVALID


def test_a_port_that_is_taken_is_named(attica: Federation) -> None:
    rewrite(attica, "127.0.0.1:0", attica.guardian.address)
    assert start_failure(attica).code is ErrorCode.SERVER_PORT_IN_USE


def test_a_port_that_is_taken_is_named_before_teachers_are_loaded(attica: Federation) -> None:
    rewrite(attica, "127.0.0.1:0", attica.guardian.address)
    (attica.party / "teachers" / "manifest.json").unlink()
    assert start_failure(attica).code is ErrorCode.SERVER_PORT_IN_USE


@pytest.mark.parametrize(
    "table",
    [
        "[policy]\nminimum = 3",
        "[policy]\nencodings = []",
        "[policy]\nepsilon_cap = 1.0",
        "[party]\nmax_votes_per_person = 0",
    ],
)
def test_a_key_that_is_off_is_named(attica: Federation, table: str) -> None:
    with (attica.party / "site.toml").open("a") as file:
        file.write(f"\n{table}\n")
    error = start_failure(attica)
    assert error.code is ErrorCode.CONFIG_INVALID
    assert table[1 : table.index("]")] in error.message


@pytest.mark.heavy
def test_the_process_says_where_it_serves_and_drains_when_told_to_stop(
    attica: Federation, start: Start
) -> None:
    with process(attica, start) as (child, caller):
        caller.vote(two_queries(caller))
        child.process.terminate()
        assert child.process.wait(HANGS_S) == 0
    with Journal(attica.party / "journal.db") as journal:
        assert journal.holds("session", 1)


@pytest.mark.heavy
def test_a_party_that_was_killed_refuses_what_it_answered(attica: Federation, start: Start) -> None:
    with process(attica, start) as (child, caller):
        caller.vote(two_queries(caller))
        child.process.kill()
        child.process.wait(HANGS_S)
    with attica.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(two_queries(caller))
    assert refused.value.code is ErrorCode.BATCH_RESTARTED
