"""Changes that administrators make in the console: their fields, effects and descriptions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from ostraka.guardian.dashboard import proposals
from ostraka.guardian.dashboard.proposals import Proposal, Values
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc


@dataclass(frozen=True)
class Field:
    """Something that a form asks for.

    Attributes:
        name: as the form sends it.
        label: for people.
        kind: "text", "number", "adjacency", "level" (of the policy's consent) or "file".
        hint: what it means.
        required: whether it may not be empty.
    """

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    required: bool = True


@dataclass(frozen=True)
class Change:
    """One kind of change.

    Attributes:
        title: what is done, as a heading and on the button.
        done: one sentence for afterwards.
        fields: what it asks for beside the reason.
        propose: what it would do, read from the guardian; raises OstrakaError for what it would refuse.
        apply: does it, for a reason.
    """

    title: str
    done: str
    fields: tuple[Field, ...]
    propose: Callable[[admin_pb2_grpc.AdminStub, Values], Proposal]
    apply: Callable[[admin_pb2_grpc.AdminStub, Values, str], object]


_UNIT = (
    Field("party", "Party"),
    Field("group", "Group"),
    Field("adjacency", "What differs", "adjacency"),
)


def _unit(values: Values) -> dict[str, Any]:
    return {name: values[name] for name in ("party", "group", "adjacency")}


def _set_budget(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
    epsilon, delta = proposals.decimal(values, "epsilon"), proposals.decimal(values, "delta")
    request = admin_pb2.SetBudgetRequest(**_unit(values), epsilon=epsilon, delta=delta, reason=reason)
    return stub.SetBudget(request)


def _grant(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
    signed = proposals.agreement(values)
    return stub.GrantBudget(admin_pb2.GrantBudgetRequest(agreement=signed, reason=reason))


def _freezing(*, frozen: bool) -> Callable[[admin_pb2_grpc.AdminStub, Values, str], object]:
    def apply(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
        request = admin_pb2.FreezeBudgetRequest(**_unit(values), frozen=frozen, reason=reason)
        return stub.FreezeBudget(request)

    return apply


def _set_consent(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
    request = admin_pb2.SetConsentRequest(**_unit(values), level=values["level"], reason=reason)
    return stub.SetConsent(request)


def _withdraw(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
    return stub.WithdrawConsent(admin_pb2.WithdrawConsentRequest(**_unit(values), reason=reason))


def _setting(state: str) -> Callable[[admin_pb2_grpc.AdminStub, Values, str], object]:
    def apply(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
        request = admin_pb2.SetPartyRequest(party=values["party"], state=state, reason=reason)
        return stub.SetParty(request)

    return apply


def _cancel(stub: admin_pb2_grpc.AdminStub, values: Values, reason: str) -> object:
    request = admin_pb2.CancelSessionRequest(session_id=values["session"], reason=reason)
    return stub.CancelSession(request)


def _party(title: str, done: str, state: str) -> Change:
    return Change(title, done, (Field("party", "Party"),), proposals.party(state), _setting(state))


CHANGES: Mapping[str, Change] = {
    "budget": Change(
        "Set or lower a budget",
        "The budget was set.",
        (
            *_UNIT,
            Field("epsilon", "Epsilon", "number", "What the unit may spend. It can be lowered, not raised."),
            Field("delta", "Delta", "number", "Empty: the unit's own, else the policy's.", required=False),
        ),
        proposals.budget,
        _set_budget,
    ),
    "grant": Change(
        "Apply what a party signed",
        "What the party signed was applied.",
        (
            Field(
                "agreement",
                "Signed agreement",
                "file",
                "The file that `ostraka party sign-raise` or `sign-consent` wrote.",
            ),
        ),
        proposals.grant,
        _grant,
    ),
    "freeze": Change(
        "Freeze a unit", "The unit was frozen.", _UNIT, proposals.state("frozen"), _freezing(frozen=True)
    ),
    "thaw": Change(
        "Thaw a unit", "The unit was thawed.", _UNIT, proposals.state("active"), _freezing(frozen=False)
    ),
    "consent": Change(
        "Set a consent level",
        "The consent level was set.",
        (*_UNIT, Field("level", "Level", "level", "Its epsilon may not be above the unit's.")),
        proposals.consent,
        _set_consent,
    ),
    "withdraw": Change(
        "Withdraw consent", "Consent was withdrawn.", _UNIT, proposals.state("withdrawn"), _withdraw
    ),
    "suspend": _party("Suspend a party", "The party was suspended.", "suspended"),
    "resume": _party("Resume a party", "The party was resumed.", "active"),
    "remove": _party("Remove a party", "The party was removed.", "removed"),
    "cancel": Change(
        "Cancel a session",
        "The session was cancelled.",
        (Field("session", "Session"),),
        proposals.session,
        _cancel,
    ),
}


def done(request: Request) -> str:
    """Return what the page says after a change that led to it."""
    change = CHANGES.get(request.query_params.get("done", ""))
    return change.done if change else ""
