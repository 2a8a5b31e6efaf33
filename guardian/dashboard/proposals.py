"""Preview of a change, for whoever confirms it."""

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.remaining import left_text
from ostraka.guardian.dashboard.filters import unit
from ostraka.guardian.policy import parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

Values: TypeAlias = Mapping[str, str]
"""What a form sent; an uploaded file in base64."""

Propose: TypeAlias = Callable[[admin_pb2_grpc.AdminStub, Values], "Proposal"]

_LATER = "It takes part in nothing from the next batch on. What it spent stays spent."
_OF_STATE = {
    "frozen": _LATER,
    "active": "It takes part again from the next batch on.",
    "withdrawn": f"{_LATER} Only its party's signature brings it back.",
    "suspended": "Nothing is asked of it from the next batch on, until it is resumed.",
    "removed": "This is final: it can never take part again under this name. What it spent stays spent.",
}


@dataclass(frozen=True)
class Proposal:
    """What would change.

    Attributes:
        about: what it happens to.
        steps: what is altered, before and after.
        warning: what to think of before.
        back: the page that shows it.
    """

    about: str
    steps: tuple[tuple[str, str, str], ...]
    warning: str
    back: str


def budget(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
    """Propose to set a unit's budget for the first time, or to lower it."""
    epsilon, kept = decimal(values, "epsilon"), _find(stub, values)
    if not 0 < epsilon < math.inf:
        raise _invalid("The epsilon must be a finite number above 0")
    return _lowered(values, kept, epsilon)


def consent(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
    """Propose to set or lower a unit's budget to a consent level's."""
    policy = parse_policy(stub.ShowPolicy(admin_pb2.ShowPolicyRequest()).toml)
    kept = _find(stub, values)
    made = _lowered(values, kept, policy.epsilon_of(values["level"]))
    level = ("consent level", kept.level or "none" if kept else "none", values["level"])
    return Proposal(made.about, (level, *made.steps), made.warning, made.back)


def grant(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
    """Propose what a party signed: more epsilon, or consent again. The guardian checks the signature."""
    try:
        agreed = common_pb2.Agreement.FromString(agreement(values).payload)
    except DecodeError:
        raise _no_agreement() from None
    kept = _required(stub, {"party": agreed.site, "group": agreed.group, "adjacency": agreed.adjacency})
    if agreed.action == "raise":
        return Proposal(
            unit(kept),
            (
                ("epsilon", f"{kept.epsilon:g}", f"{agreed.epsilon:g}"),
                ("agreements used", str(kept.agreements), str(agreed.number + 1)),
            ),
            f"The guardian takes it only if {agreed.site} signed it. From then on the unit is marked: its"
            " budget no longer covers its lifetime.",
            _page(kept.party),
        )
    return Proposal(
        unit(kept),
        (
            ("state", kept.state, "active"),
            ("agreements used", str(kept.agreements), str(agreed.number + 1)),
        ),
        f"The guardian takes it only if {agreed.site} signed it. The unit may then take part again.",
        _page(kept.party),
    )


def state(after: str) -> Propose:
    """Return a function that proposes to freeze, thaw or withdraw a unit."""

    def propose(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
        kept = _required(stub, values)
        return Proposal(unit(kept), (("state", kept.state, after),), _OF_STATE[after], _page(kept.party))

    return propose


def party(after: str) -> Propose:
    """Return a function that proposes to suspend, resume or remove a party."""

    def propose(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
        asked = admin_pb2.ListPartiesRequest(party=values["party"])
        (info,) = stub.ListParties(asked)
        return Proposal(info.site, (("state", info.state, after),), _OF_STATE[after], _page(info.site))

    return propose


def session(stub: admin_pb2_grpc.AdminStub, values: Values) -> Proposal:
    """Propose to end a session."""
    asked = admin_pb2.ShowSessionRequest(session_id=values["session"])
    found = stub.ShowSession(asked).session
    return Proposal(
        f"session {found.session_id} of {found.querier}",
        (("state", found.state, "ended"),),
        "Its batches without answers die, uncharged. Answers that were sent stay charged.",
        f"/session/{quote(found.session_id, safe='')}",
    )


def agreement(values: Values) -> common_pb2.Signed:
    """Return what a party signed; raises `data.unreadable`."""
    try:
        return common_pb2.Signed.FromString(base64.b64decode(values["agreement"], validate=True))
    except (DecodeError, binascii.Error):
        raise _no_agreement() from None


def decimal(values: Values, name: str) -> float:
    """Return a number of a form, 0 where it is empty; raises `message.invalid`."""
    try:
        return float(values.get(name) or 0)
    except ValueError:
        raise _invalid(f"The {name} must be a number") from None


def _lowered(values: Values, kept: admin_pb2.Budget | None, epsilon: float) -> Proposal:
    if kept is None:
        named = admin_pb2.Budget(party=values["party"], group=values["group"], adjacency=values["adjacency"])
        new = (("epsilon", "none", f"{epsilon:g}"),)
        return Proposal(unit(named), new, "The unit may take part from then on.", _page(named.party))
    if epsilon > kept.epsilon:
        raise OstrakaError(
            ErrorCode.BUDGET_RAISE_REFUSED,
            f"The budget of {unit(kept)} is epsilon {kept.epsilon:g}, and an administrator alone can only"
            " lower it; to raise it, apply what its party signed.",
        )
    after = admin_pb2.Budget()
    after.CopyFrom(kept)
    after.epsilon = epsilon
    steps = (
        ("epsilon", f"{kept.epsilon:g}", f"{epsilon:g}"),
        ("left at worst", left_text(kept), left_text(after)),
    )
    return Proposal(unit(kept), steps, "Only its party can have it raised again.", _page(kept.party))


def _find(stub: admin_pb2_grpc.AdminStub, values: Values) -> admin_pb2.Budget | None:
    if values["adjacency"] not in {"record", "label"}:
        raise _invalid("What differs must be a record or a label")
    found = stub.ListBudgets(admin_pb2.ListBudgetsRequest(party=values["party"]))
    wanted = (values["group"], values["adjacency"])
    return next((budget for budget in found if (budget.group, budget.adjacency) == wanted), None)


def _required(stub: admin_pb2_grpc.AdminStub, values: Values) -> admin_pb2.Budget:
    found = _find(stub, values)
    if found is None:
        raise OstrakaError(
            ErrorCode.BUDGET_MISSING,
            f"{values['party']}/{values['group']} has no budget of adjacency {values['adjacency']}; set one"
            " first.",
        )
    return found


def _page(party: str) -> str:
    return f"/party/{quote(party, safe='')}"


def _no_agreement() -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE, "The file is no signed agreement; take it as its party wrote it."
    )


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.MESSAGE_INVALID, f"{problem}; correct the form.")
