"""Whether a plan may become a session: policy, parties, budgets, ring. Nothing here depends on votes."""

from collections.abc import Mapping, Sequence

from common.errors import ErrorCode, OstrakaError
from common.plan import Confident, GnMax, Mechanism, Plan, check_ring
from guardian.ledger import Budget, UnitKey
from guardian.policy import Policy
from protos.ostraka.v1 import common_pb2


def least_sigma(mechanism: Mechanism) -> float:
    """The smallest noise scale that a mechanism draws, in votes."""
    match mechanism:
        case GnMax(sigma=sigma):
            return sigma
        case Confident(sigma1=sigma1, sigma2=sigma2):
            return min(sigma1, sigma2)


def check_policy(plan: Plan, policy: Policy) -> None:
    """Raise `policy.refused` naming the limit of the federation's policy that `plan` exceeds."""
    limits = [
        (plan.quorum >= policy.min_quorum, f"a quorum of at least {policy.min_quorum} parties"),
        (least_sigma(plan.mechanism) >= policy.min_sigma, f"noise of at least sigma {policy.min_sigma}"),
        (plan.batch_size <= policy.max_batch, f"batches of at most {policy.max_batch} queries"),
        (plan.queries <= policy.max_queries, f"at most {policy.max_queries} queries a session"),
    ]
    for holds, wanted in limits:
        if not holds:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED, f"The guardian's policy asks for {wanted}; change the plan."
            )


def check_enforcement(budgets: Sequence[Budget], policy: Policy) -> None:
    """Raise `policy.refused` for a budget made under another enforcement than the policy's."""
    for budget in budgets:
        if budget.enforce != policy.enforce:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"The budget of {budget.key} is enforced as {budget.enforce} and the guardian's policy says"
                f" {policy.enforce}; restore the policy that the budget was made under.",
            )


def participants(
    plan: Plan, manifests: Mapping[str, common_pb2.Manifest]
) -> dict[str, common_pb2.Participant]:
    """The parties of `plan` with the teachers that their manifests declare, by site.

    Raises:
        OstrakaError: `party.unknown` for a party without a manifest, `task.mismatch` for one that
            registered another task, `plan.ring_too_small` if the ballots would not fit the ring.
    """
    result = {}
    for site in plan.parties:
        manifest = manifests.get(site)
        if manifest is None:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has not registered with this guardian; start it with `ostraka party serve`.",
            )
        if manifest.task_digest != plan.task_digest:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"Party {site} serves another task; give all sites the same task.toml and check it with"
                " `ostraka party check` and `ostraka query check`.",
            )
        result[site] = common_pb2.Participant(
            site=site,
            teachers=sum(group.teachers for group in manifest.groups),
            max_votes_per_person=manifest.max_votes_per_person,
        )
    check_ring(plan, sum(p.teachers for p in result.values()))
    return result


def units(plan: Plan, manifests: Mapping[str, common_pb2.Manifest], sites: Sequence[str]) -> list[UnitKey]:
    """The units that a release of `plan` by `sites` is charged to, in ledger order."""
    return sorted(
        UnitKey(site, group.name, plan.adjacency) for site in sites for group in manifests[site].groups
    )
