"""Operations on units: their budgets, states and consent."""

import math
from dataclasses import replace
from typing import Annotated, ClassVar

from google.protobuf.message import DecodeError
from pydantic import BaseModel, ConfigDict, Field

from ostraka.common.console.options import FileContent
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.filters import FILTERS, filter_text
from ostraka.guardian.admin.texts import amount_left_text, unit_text
from ostraka.guardian.operations.federation import party_page
from ostraka.guardian.operations.operation import (
    ConsoleOperation,
    Form,
    MaybeReason,
    Operation,
    Preview,
    Reason,
    Stub,
    invalid,
    no_agreement,
    parse_signed,
)
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

Group = Annotated[str, Field(title="Group", description="The party's group of records.")]
Order = Annotated[
    float,
    Field(
        description="Renyi order of the filter. 0: the order that the unit already has, else a proposed one."
    ),
]
Filter = Annotated[
    str,
    Field(
        title="Filter",
        description="Privacy filter: renyi, or gaussian (for trainings and sums; it has no "
        "order). Empty: the filter that the unit already has, else renyi.",
    ),
]


class UnitFields(BaseModel):
    """A unit, as an administrator names it."""

    party: str = Field(title="Party", description="Site name of the party.")
    group: Group = "all"
    adjacency: str = Field("record", title="What differs", description="record or label.")

    def find(self, stub: Stub) -> admin_pb2.Budget | None:
        """Return the unit's budget, if it has one; raises `message.invalid` for an unknown adjacency."""
        if self.adjacency not in {"record", "label"}:
            raise invalid("What differs must be a record or a label")
        found = stub.ListBudgets(admin_pb2.ListBudgetsRequest(party=self.party))
        wanted = (self.group, self.adjacency)
        return next((budget for budget in found if (budget.group, budget.adjacency) == wanted), None)

    def budget(self, stub: Stub) -> admin_pb2.Budget:
        """Return the unit's budget; raises `budget.missing`."""
        if found := self.find(stub):
            return found
        raise OstrakaError(
            ErrorCode.BUDGET_MISSING,
            f"{self.party}/{self.group} has no budget of adjacency {self.adjacency}; set one first.",
        )


def require_filter(asked: str, reply: admin_pb2.SetBudgetReply) -> None:
    """Raise `message.invalid` if a guardian that knows no filters made a Renyi budget instead."""
    if asked and (reply.budget.filter or FILTERS[0]) != asked:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"{unit_text(reply.budget)} has the filter {filter_text(reply.budget.order)}, which stays, not"
            f" {asked}: the guardian is older than that; update it before setting further budgets.",
        )


class SetBudget(UnitFields, ConsoleOperation):
    """Set a unit's budget for the first time, or lower it."""

    command = "budget set"
    names_party = True
    request = admin_pb2.SetBudgetRequest()
    form = Form("budget", "Set or lower a budget", "The budget was set.")

    epsilon: float = Field(
        ge=0.0,
        title="Epsilon",
        description="Epsilon of the budget; a later change can lower it but not raise it.",
    )
    delta: float = Field(
        0.0,
        ge=0.0,
        le=1.0,
        title="Delta",
        description="Delta of the budget. Empty or 0: the delta that the unit already has, else "
        "the policy's.",
    )
    order: Order = 0
    filter: Filter = ""
    reason: MaybeReason = ""

    def send(self, stub: Stub) -> admin_pb2.SetBudgetReply:
        """Set the budget; raises `message.invalid` if an older guardian gave it another filter."""
        reply: admin_pb2.SetBudgetReply = super().send(stub)
        require_filter(self.filter, reply)
        return reply

    def preview(self, stub: Stub) -> Preview:
        """Return the unit's first budget, or its lower one."""
        kept = self.find(stub)
        if not 0 < self.epsilon < math.inf:
            raise invalid("The epsilon must be a finite number above 0")
        return _preview_lower(self, kept, self.epsilon)


class SetConsent(UnitFields, ConsoleOperation):
    """Set a group's budget to the epsilon of a consent level, or lower it to that epsilon."""

    command = "consent set"
    names_party = True
    request = admin_pb2.SetConsentRequest()
    form = Form("consent", "Set a consent level", "The consent level was set.")

    group: Group
    level: str = Field(
        title="Level",
        description="Consent level from the policy in force; its epsilon may not exceed that of the unit.",
    )
    order: Order = 0
    filter: Filter = ""
    reason: MaybeReason = ""

    def send(self, stub: Stub) -> admin_pb2.SetBudgetReply:
        """Set the level; raises `message.invalid` as `SetBudget` does."""
        reply: admin_pb2.SetBudgetReply = super().send(stub)
        require_filter(self.filter, reply)
        return reply

    def preview(self, stub: Stub) -> Preview:
        """Return the unit's level and its budget at that level's epsilon."""
        from ostraka.guardian.policy import parse_policy

        policy = parse_policy(stub.ShowPolicy(admin_pb2.ShowPolicyRequest()).toml)
        kept = self.find(stub)
        made = _preview_lower(self, kept, policy.epsilon_of(self.level))
        level = ("consent level", kept.level or "none" if kept else "none", self.level)
        return replace(made, steps=(level, *made.steps))


class GrantBudget(ConsoleOperation):
    """Raise a budget, or restore a withdrawn group, by an agreement that the party signed."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    command = "budget grant"
    request = admin_pb2.GrantBudgetRequest()
    form = Form("grant", "Apply what a party signed", "What the party signed was applied.")

    agreement: Annotated[common_pb2.Signed, FileContent(parse_signed)] = Field(
        title="Signed agreement",
        description="File from `ostraka party sign-raise` or `sign-consent`.",
    )
    reason: Reason

    def preview(self, stub: Stub) -> Preview:
        """Return what a party signed: more epsilon, or new consent. The guardian checks the signature."""
        try:
            agreed = common_pb2.Agreement.FromString(self.agreement.payload)
        except DecodeError:
            raise no_agreement("The file") from None
        kept = UnitFields(party=agreed.site, group=agreed.group, adjacency=agreed.adjacency).budget(stub)
        if agreed.action == "raise":
            changed = ("epsilon", f"{kept.epsilon:g}", f"{agreed.epsilon:g}")
            then = "From then on the unit is marked: its budget no longer covers its lifetime."
        else:
            changed = ("state", kept.state, "active")
            then = "The unit may then take part again."
        return Preview(
            unit_text(kept),
            (changed, ("agreements used", str(kept.agreements), str(agreed.number + 1))),
            f"The guardian takes it only if {agreed.site} signed it. {then}",
            party_page(kept.party),
        )


class UnitChange(UnitFields, ConsoleOperation):
    """A change of a unit's state: the new state, and a warning."""

    after: ClassVar[str]
    warning: ClassVar[str] = "It takes part in nothing from the next batch on. What it spent stays spent."

    reason: Reason

    def preview(self, stub: Stub) -> Preview:
        """Return the unit's state before and after."""
        kept = self.budget(stub)
        step = ("state", kept.state, self.after)
        return Preview(unit_text(kept), (step,), self.warning, party_page(kept.party))


class FreezeUnit(UnitChange):
    """Exclude a unit from all batches, starting with the next one, until you thaw it."""

    command = "budget freeze"
    request = admin_pb2.FreezeBudgetRequest(frozen=True)
    form = Form("freeze", "Freeze a unit", "The unit was frozen.")
    after = "frozen"


class ThawUnit(UnitChange):
    """Let a frozen unit take part again."""

    command = "budget thaw"
    request = admin_pb2.FreezeBudgetRequest(frozen=False)
    form = Form("thaw", "Thaw a unit", "The unit was thawed.")
    after = "active"
    warning = "It takes part again from the next batch on."


class WithdrawConsent(UnitChange):
    """Exclude a group from all batches, starting with the next one, until its party signs new consent."""

    command = "consent withdraw"
    request = admin_pb2.WithdrawConsentRequest()
    form = Form("withdraw", "Withdraw consent", "Consent was withdrawn.")
    after = "withdrawn"
    warning = f"{UnitChange.warning} Only its party's signature brings it back."

    group: Group


class PublishEpsilon(UnitFields, Operation):
    """Publish, with noise, what a unit has spent by theorem6; charge every unit whose votes this reveals."""

    command = "publish-epsilon"
    request = admin_pb2.PublishEpsilonRequest()

    beta: float = Field(
        0.0,
        ge=0.0,
        description="Rate at which the noise may change between neighbouring data sets. 0: "
        "chosen by the order.",
    )
    sigma: float = Field(
        0.0,
        ge=0.0,
        description="Standard deviation of the noise, in smooth sensitivities. 0: chosen by the order.",
    )
    reason: Reason


def _preview_lower(unit: UnitFields, kept: admin_pb2.Budget | None, epsilon: float) -> Preview:
    back = party_page(unit.party)
    if kept is None:
        step = ("epsilon", "none", f"{epsilon:g}")
        return Preview(unit_text(unit), (step,), "The unit may take part from then on.", back)
    if epsilon > kept.epsilon:
        raise OstrakaError(
            ErrorCode.BUDGET_RAISE_REFUSED,
            f"The budget of {unit_text(kept)} is epsilon {kept.epsilon:g}, and an administrator alone can"
            " only lower it; to raise it, apply what its party signed.",
        )
    after = admin_pb2.Budget()
    after.CopyFrom(kept)
    after.epsilon = epsilon
    steps = (
        ("epsilon", f"{kept.epsilon:g}", f"{epsilon:g}"),
        ("left at worst", amount_left_text(kept), amount_left_text(after)),
    )
    return Preview(unit_text(kept), steps, "Only its party can have it raised again.", back)
