"""What operations say that they would change, of what the guardian answers."""

from typing import Any

import pytest

from ostraka.common.errors import OstrakaError
from ostraka.guardian.operations.federation import CancelSession, RemoveParty
from ostraka.guardian.operations.operation import ConsoleOperation
from ostraka.guardian.operations.unit_operations import (
    FreezeUnit,
    GrantBudget,
    SetBudget,
    SetConsent,
    WithdrawConsent,
)
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

BUDGET = admin_pb2.Budget(
    party="a",
    group="all",
    adjacency="record",
    epsilon=10,
    epsilon_worst_case=1,
    enforce="worst_case",
    state="active",
    agreements=1,
)
A = "a/all (DP for records)"


class Guardian:
    """Answers of a guardian that knows one party with one budget, and one session."""

    def ListBudgets(self, request: admin_pb2.ListBudgetsRequest) -> list[admin_pb2.Budget]:  # noqa: N802
        return [BUDGET] if request.party == "a" else []

    def ListParties(self, request: admin_pb2.ListPartiesRequest) -> list[admin_pb2.PartyInfo]:  # noqa: N802
        return [admin_pb2.PartyInfo(site=request.party, state="active")]

    def ShowPolicy(self, request: admin_pb2.ShowPolicyRequest) -> admin_pb2.PolicyReply:  # noqa: N802
        return admin_pb2.PolicyReply(toml="[consent]\nlow = 5.0\nhigh = 20.0\n")

    def ShowSession(self, request: admin_pb2.ShowSessionRequest) -> admin_pb2.ShowSessionReply:  # noqa: N802
        session = admin_pb2.SessionSummary(session_id=request.session_id, querier="q", state="open")
        return admin_pb2.ShowSessionReply(session=session)


STUB: Any = Guardian()


def signed(action: str, **named: Any) -> GrantBudget:
    values: dict[str, Any] = {
        "site": "a",
        "group": "all",
        "adjacency": "record",
        "epsilon": 12,
        "number": 1,
    } | named
    payload = common_pb2.Agreement(action=action, **values).SerializeToString()
    return GrantBudget(agreement=common_pb2.Signed(payload=payload), reason="r")


@pytest.mark.parametrize(
    ("operation", "about", "steps"),
    [
        (
            SetBudget(party="a", epsilon=4),
            A,
            (("epsilon", "10", "4"), ("left at worst", "9.0000", "3.0000")),
        ),
        (SetBudget(party="b", epsilon=4), "b/all (DP for records)", (("epsilon", "none", "4"),)),
        (
            SetConsent(party="a", group="all", level="low"),
            A,
            (
                ("consent level", "none", "low"),
                ("epsilon", "10", "5"),
                ("left at worst", "9.0000", "4.0000"),
            ),
        ),
        (FreezeUnit(party="a", reason="r"), A, (("state", "active", "frozen"),)),
        (WithdrawConsent(party="a", group="all", reason="r"), A, (("state", "active", "withdrawn"),)),
        (signed("raise"), A, (("epsilon", "10", "12"), ("agreements used", "1", "2"))),
        (signed("consent"), A, (("state", "active", "active"), ("agreements used", "1", "2"))),
        (RemoveParty(party="a", reason="r"), "a", (("state", "active", "removed"),)),
        (CancelSession(session="s/1", reason="r"), "session s/1 of q", (("state", "open", "ended"),)),
    ],
)
def test_what_would_change(
    operation: ConsoleOperation, about: str, steps: tuple[tuple[str, str, str], ...]
) -> None:
    preview = operation.preview(STUB)
    assert (preview.about, preview.steps) == (about, steps)
    assert preview.back in ("/party/a", "/party/b", "/session/s%2F1")


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (SetBudget(party="a", epsilon=11), "budget.raise_refused"),
        (SetBudget(party="a", epsilon=float("inf")), "message.invalid"),
        (SetBudget(party="a", epsilon=4, adjacency="person"), "message.invalid"),
        (SetConsent(party="a", group="all", level="high"), "budget.raise_refused"),
        (SetConsent(party="a", group="all", level="other"), "consent.unknown"),
        (FreezeUnit(party="b", reason="r"), "budget.missing"),
        (signed("raise", group="none"), "budget.missing"),
        (
            GrantBudget(agreement=common_pb2.Signed(payload=b"\xff\xff"), reason="r"),
            "data.unreadable",
        ),
    ],
)
def test_what_the_guardian_would_refuse(operation: ConsoleOperation, code: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        operation.preview(STUB)
    assert refused.value.code == code


def test_what_is_final_is_said_before() -> None:
    assert "never take part again" in RemoveParty(party="a", reason="r").preview(STUB).warning
    assert "Only its party" in WithdrawConsent(party="a", group="all", reason="r").preview(STUB).warning
