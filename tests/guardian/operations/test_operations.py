"""The table of administrative operations against the RPCs that they send."""

from typing import Any

import pytest
from google.protobuf.message import Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.operations.federation import CancelSession, CheckPolicy, Revoke, SuspendParty
from ostraka.guardian.operations.operation import ConsoleOperation, Operation
from ostraka.guardian.operations.table import OPERATIONS
from ostraka.guardian.operations.unit_operations import (
    FreezeUnit,
    GrantBudget,
    SetBudget,
    SetConsent,
    ThawUnit,
)
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

RPCS = admin_pb2.DESCRIPTOR.services_by_name["Admin"].methods
UNIT: dict[str, Any] = {"party": "a", "group": "all", "adjacency": "record"}
SIGNED = common_pb2.Signed(payload=b"p")


class Recorder:
    """A stub whose RPCs return their own name and request."""

    def __getattr__(self, name: str) -> Any:
        return lambda request: (name, request)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_request_has_what_is_asked_for_and_what_is_fixed(operation: type[Operation]) -> None:
    asked = {field.serialization_alias or name for name, field in operation.model_fields.items()}
    fixed = {field.name for field, _ in operation.request.ListFields()}
    known = set(operation.request.DESCRIPTOR.fields_by_name)
    assert not asked & fixed
    assert asked <= known
    assert known - asked - fixed <= {"frozen", "check_only", "reason"}


def test_every_change_of_the_service_is_an_operation() -> None:
    sent = {operation.request.DESCRIPTOR.name for operation in OPERATIONS}
    changing = ("Set", "Grant", "Freeze", "Withdraw", "Apply", "Cancel", "Revoke", "Publish")
    assert sent == {rpc.input_type.name for rpc in RPCS if rpc.name.startswith(changing)}


def test_commands_and_forms_have_names_of_their_own() -> None:
    forms = [found.form.name for found in OPERATIONS if issubclass(found, ConsoleOperation)]
    assert len({operation.command for operation in OPERATIONS}) == len(OPERATIONS)
    assert len(set(forms)) == len(forms) > 0


class Older:
    """A guardian that knows Renyi filters alone, and says nothing of filters."""

    def __getattr__(self, name: str) -> Any:
        return lambda request: admin_pb2.SetBudgetReply(budget=admin_pb2.Budget(**UNIT, order=8))


def test_a_filter_that_a_guardian_is_too_old_for_is_told() -> None:
    older: Any = Older()
    for asked in (SetBudget(**UNIT, epsilon=3), SetBudget(**UNIT, epsilon=3, filter="renyi")):
        assert asked.send(older).budget.order == 8
    for refused in (
        SetBudget(**UNIT, epsilon=3, filter="gaussian"),
        SetConsent(**UNIT, level="low", filter="gaussian"),
    ):
        with pytest.raises(OstrakaError, match="the filter renyi 8, which stays, not gaussian") as told:
            refused.send(older)
        assert told.value.code is ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_says_in_one_sentence_what_it_does(operation: type[Operation]) -> None:
    said = operation.__doc__ or ""
    assert said.endswith(".")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("operation", "rpc", "request_"),
    [
        (
            SuspendParty(party="a", reason="r"),
            "SetParty",
            admin_pb2.SetPartyRequest(party="a", state="suspended", reason="r"),
        ),
        (
            SetBudget(party="a", epsilon=2, delta=0.5),
            "SetBudget",
            admin_pb2.SetBudgetRequest(**UNIT, epsilon=2, delta=0.5),
        ),
        (
            FreezeUnit(party="a", reason="r"),
            "FreezeBudget",
            admin_pb2.FreezeBudgetRequest(**UNIT, frozen=True, reason="r"),
        ),
        (
            ThawUnit(party="a", reason="r"),
            "FreezeBudget",
            admin_pb2.FreezeBudgetRequest(**UNIT, reason="r"),
        ),
        (
            GrantBudget(agreement=SIGNED, reason="r"),
            "GrantBudget",
            admin_pb2.GrantBudgetRequest(agreement=SIGNED, reason="r"),
        ),
        (
            CancelSession(session="s", reason="r"),
            "CancelSession",
            admin_pb2.CancelSessionRequest(session_id="s", reason="r"),
        ),
        (CheckPolicy(toml="t"), "ApplyPolicy", admin_pb2.ApplyPolicyRequest(toml="t", check_only=True)),
        (
            Revoke(revocations=b"pem", reason="r"),
            "Revoke",
            admin_pb2.RevokeRequest(revocations=b"pem", reason="r"),
        ),
    ],
)
def test_what_is_sent(operation: Operation, rpc: str, request_: Message) -> None:
    stub: Any = Recorder()
    assert operation.send(stub) == (rpc, request_)
