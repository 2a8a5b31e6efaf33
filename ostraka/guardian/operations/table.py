"""Every administrative operation, in the order of their commands."""

from collections.abc import Sequence

from ostraka.guardian.operations import federation, unit_operations
from ostraka.guardian.operations.operation import Operation

OPERATIONS: Sequence[type[Operation]] = (
    federation.AddParty,
    federation.SuspendParty,
    federation.ResumeParty,
    federation.RemoveParty,
    unit_operations.SetBudget,
    unit_operations.GrantBudget,
    unit_operations.FreezeUnit,
    unit_operations.ThawUnit,
    unit_operations.SetConsent,
    unit_operations.WithdrawConsent,
    federation.CheckPolicy,
    federation.ApplyPolicy,
    federation.CancelSession,
    federation.Revoke,
    unit_operations.PublishEpsilon,
)
