"""Sessions in which teachers of several parties learn together: who may open them, and their guarantee."""

from collections.abc import Iterable

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.mechanism import DpTtac, JointTraining, Ttac
from ostraka.common.plan.plan import Plan
from ostraka.guardian.policy import Policy
from ostraka.protos.ostraka.v1 import common_pb2

TOGETHER = ("", Ttac.together, DpTtac.together)
"""Values in a manifest for teachers that learned with other parties' teachers; empty: they did not."""


def check_caller(plan: Plan, caller: Identity) -> None:
    """Raise unless `caller` may ask for such a plan: one of its parties leads a training.

    `identity.wrong_role` for a party that asks for labels and a querying party that asks for a training,
    `policy.refused` for a party that is not in the plan.
    """
    if plan.is_training != (caller.role is Role.PARTY):
        raise OstrakaError(
            ErrorCode.IDENTITY_WRONG_ROLE,
            f"Mechanism {plan.mechanism.kind} is not for role {caller.role}: parties train together with"
            " `ostraka lead`, and querying parties ask for labels.",
        )
    if plan.is_training and caller.site not in plan.parties:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"Site {caller.site} is none of the parties of the training; name it among them, or let one of"
            " them lead.",
        )


def check_learned(plan: Plan, manifest: common_pb2.Manifest) -> None:
    """Raise `task.mismatch` for a training with teachers that are registered with another way of learning."""
    if not isinstance(plan.mechanism, JointTraining) or manifest.together == plan.mechanism.together:
        return
    raise OstrakaError(
        ErrorCode.TASK_MISMATCH,
        f"Party {manifest.site} registered teachers that do not learn by {plan.mechanism.together}; start"
        f" `ostraka party train --training {plan.mechanism.together}` there.",
    )


def is_unguaranteed(plan: Plan, grant: common_pb2.Grant) -> bool:
    """Whether a session's releases have no formal guarantee: sums of ttac, or votes of its teachers.

    Sums over records use no teacher.
    """
    learned = (participant.together == Ttac.together for participant in grant.participants)
    voted = not plan.mechanism.sums_records and any(learned)
    return not plan.mechanism.guaranteed or voted


def check_guarantee(plan: Plan, participants: Iterable[common_pb2.Participant], policy: Policy) -> None:
    """Raise `policy.refused` for teachers without a formal guarantee, unless the policy allows ttac.

    Sums over records use no teacher.
    """
    if plan.mechanism.sums_records:
        return
    for participant in participants:
        if participant.together == Ttac.together and not policy.allows_unguaranteed:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"Teachers of party {participant.site} were trained by ttac, which leaves no formal"
                " guarantee, and the guardian's policy does not allow that; leave the party out of the plan,"
                " or train it by dp-ttac.",
            )
