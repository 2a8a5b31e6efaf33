"""Which confidential plans the guardian grants: who can answer them, under which policy and bound."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest

from ostraka.common.mechanism import GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import call_error
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, plan, refusal, voters

HEAD = "square-mlp"
POLICY = "min_sigma = 0.5\n"
ENCODINGS = 'encodings = ["plain", "ckks", "ckks-square"]\n'
ENCODER: dict[str, Any] = {"encoder": "networks:public", "encoder_sha256": bytes(32)}


@pytest.fixture
def guardian(tmp_path: Path) -> Iterator[Calls]:
    with Federation(tmp_path, policy=POLICY + ENCODINGS).guardian() as calls:
        calls.prepare_all()
        yield calls


def confidential(**changes: Any) -> Plan:
    return plan(**{"ring_bits": 32} | changes)


def test_encrypted_queries_need_teachers_that_can_be_evaluated_on_them(guardian: Calls) -> None:
    asked = confidential(encoding="ckks")
    for site in PARTIES[:-1]:
        guardian.register(site, head=HEAD)
    with pytest.raises(grpc.RpcError) as caught:
        guardian.open(asked)
    error = call_error(caught.value)
    assert error.code == "party.not_encrypted"
    assert error.details == {"party": PARTIES[-1]}
    assert "ostraka party train --head linear" in error.message
    assert "leave it out" in error.message
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert guardian.open(confidential(encoding="ckks", parties=PARTIES[:-1])).session_id
    assert guardian.open(confidential()).session_id


def test_a_grant_says_how_each_party_is_evaluated(guardian: Calls) -> None:
    for site, head in zip(PARTIES, ("linear", HEAD, "square-cnn"), strict=True):
        guardian.register(site, head=head)
    grant = guardian.open(confidential(encoding="ckks"))
    assert [party.head for party in grant.participants] == ["linear", HEAD, "square-cnn"]
    ticket = guardian.ticket(grant.session_id, 1, 5)
    assert [schedule.participant.head for schedule in ticket.schedule] == ["linear", HEAD, "square-cnn"]


@pytest.mark.parametrize(
    ("policy", "head", "missing"),
    [
        ("", "linear", "ckks"),
        ("", HEAD, "ckks"),
        ('encodings = ["plain", "ckks"]', "square-cnn", "ckks-square"),
        ('encodings = ["plain", "ckks-square"]', "linear", "ckks"),
        ('encodings = ["plain", "ckks-square"]', "square", "ckks"),
    ],
)
def test_encrypted_queries_are_refused_unless_the_policy_names_them(
    tmp_path: Path, policy: str, head: str, missing: str
) -> None:
    asked = confidential(encoding="ckks")
    with Federation(tmp_path, policy=POLICY + policy).guardian() as guardian:
        guardian.prepare_all()
        for site in PARTIES:
            guardian.register(site, head=head)
        for call in (
            lambda: guardian.open(asked),
            lambda: guardian.query.Plan(guardian_pb2.PlanRequest(plan=asked.serialize())),
        ):
            with pytest.raises(grpc.RpcError) as caught:
                call()
            error = call_error(caught.value)
            assert error.code == "policy.refused"
            assert f'ask the administrators to add "{missing}" to the policy\'s encodings' in error.message
        assert guardian.open(confidential()).session_id


def test_a_policy_that_stops_naming_them_ends_encrypted_sessions_at_the_next_batch(guardian: Calls) -> None:
    for site in PARTIES:
        guardian.register(site, head="linear")
    session = guardian.open(confidential(encoding="ckks")).session_id
    assert guardian.ticket(session, 1, 5).size == 5
    guardian.apply_policy(POLICY)
    assert refusal(lambda: guardian.ticket(session, 2, 5)) == "policy.refused"


def test_a_policy_may_allow_encrypted_queries_alone(tmp_path: Path) -> None:
    with Federation(tmp_path, policy=POLICY + 'encodings = ["ckks"]').guardian() as guardian:
        guardian.prepare_all()
        assert refusal(lambda: guardian.open(confidential())) == "policy.refused"
        for site, head in zip(PARTIES, ("linear", "square", "linear"), strict=True):
            guardian.register(site, head=head)
        assert guardian.open(confidential(encoding="ckks")).session_id


@pytest.mark.parametrize(
    "registered",
    [{}, {"encoder": "networks:other", "encoder_sha256": bytes(32)}, ENCODER | {"encoder_sha256": b"o" * 32}],
)
def test_parties_train_behind_the_encoder_that_the_plan_names(
    guardian: Calls, registered: dict[str, Any]
) -> None:
    guardian.register("a", **ENCODER)
    guardian.register("b", **ENCODER)
    guardian.register("c", **registered)
    assert refusal(lambda: guardian.open(plan(**ENCODER))) == "task.mismatch"
    assert refusal(lambda: guardian.open(plan())) == "task.mismatch"
    guardian.register("c", **ENCODER)
    assert guardian.open(plan(**ENCODER)).session_id


@pytest.mark.parametrize(("tally", "bound"), [("blind", "worst_case"), ("aggregate", "theorem6")])
def test_blind_tallies_are_charged_the_worst_case_and_say_so(tmp_path: Path, tally: str, bound: str) -> None:
    policy = 'bound = "theorem6"\nmin_sigma = 0.5\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        guardian.prepare_all()
        asked = confidential(tally=tally)
        grant = guardian.open(asked)
        assert (grant.enforce, grant.bound) == ("worst_case", bound)
        reply = guardian.query.Plan(guardian_pb2.PlanRequest(plan=asked.serialize()))
        assert reply.bound == bound
        shown = guardian.admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=grant.session_id))
        assert (shown.tally, shown.encoding, shown.bound) == (tally, "plain", bound)


def test_costs_that_depend_on_votes_and_tallies_that_hide_them_do_not_go_together(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nmin_sigma = 0.5\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        guardian.prepare_all()
        assert refusal(lambda: guardian.open(confidential(tally="blind"))) == "policy.refused"
        request = guardian_pb2.PlanRequest(plan=confidential(tally="blind").serialize())
        assert refusal(lambda: guardian.query.Plan(request)) == "policy.refused"
        assert guardian.open(confidential()).session_id


def test_a_policy_that_changes_meanwhile_refuses_the_next_batch(tmp_path: Path) -> None:
    with Federation(tmp_path, votes_may_tell=True).guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open(confidential(tally="blind")).session_id
        guardian.ticket(session, 1, 5)
        guardian.apply_policy('enforce = "data_dependent"\nmin_sigma = 0.5\n')
        assert refusal(lambda: guardian.ticket(session, 2, 5)) == "policy.refused"


def test_batches_whose_circuits_are_too_large_are_refused(guardian: Calls) -> None:
    mechanism = GnMax(sigma=1.0)
    fits = 2**28 // (8 * 32 * 16 + 1)  # labels of four counts and their noise, and what opens the answer
    guardian.apply_policy(f"min_sigma = 0.5\nmax_batch = {2 * fits}\n")

    def asked(batch: int, tally: str = "blind") -> Plan:
        return confidential(tally=tally, mechanism=mechanism, queries=batch, batch_size=batch)

    assert guardian.open(asked(fits)).session_id
    assert guardian.open(asked(fits + 1, "aggregate")).session_id
    with pytest.raises(grpc.RpcError) as caught:
        guardian.open(asked(fits + 1))
    assert call_error(caught.value).code == "plan.invalid"
    assert str(fits) in call_error(caught.value).message


def test_heads_and_encoders_are_part_of_what_a_grant_is_bound_to(guardian: Calls) -> None:
    for site in PARTIES:
        guardian.register(site, head=HEAD)
    session = guardian.open(confidential(encoding="ckks")).session_id
    guardian.register("a", head="linear")
    assert "a" not in voters(guardian.ticket(session, 1, 5))
