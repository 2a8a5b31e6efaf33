"""Whether a plan may become a session: policy, parties, budgets, ring. Nothing here depends on votes."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from common.errors import ErrorCode, OstrakaError
from common.mechanism import AnyMechanism, NoiseCluster
from common.plan import Plan
from common.plan_limits import check_ring
from guardian.ledger import Budget, Ledger, StoredManifest, UnitKey
from guardian.policy import Policy
from protos.ostraka.v1 import common_pb2


def check_policy(plan: Plan, policy: Policy) -> None:
    """Raise `policy.refused` naming what of `plan` the federation's policy does not allow."""
    limits = [
        (plan.quorum >= policy.min_quorum, f"a quorum of at least {policy.min_quorum} parties"),
        (min(plan.mechanism.sigmas) >= policy.min_sigma, f"noise of at least sigma {policy.min_sigma}"),
        (plan.batch_size <= policy.max_batch, f"batches of at most {policy.max_batch} queries"),
        (plan.queries <= policy.max_queries, f"at most {policy.max_queries} queries a session"),
    ]
    unlisted = [site for site in plan.parties if not policy.allows(site)]
    if unlisted:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"The guardian's policy does not list party {unlisted[0]}; leave it out of the plan.",
        )
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


def participants(plan: Plan, stored: Mapping[str, StoredManifest]) -> dict[str, common_pb2.Participant]:
    """The parties of `plan` with the teachers that their manifests declare, by site.

    Raises:
        OstrakaError: `party.unknown` for a party without a manifest, `task.mismatch` for one that
            registered another task, `plan.ring_too_small` if the ballots would not fit the ring.
    """
    result = {}
    for site in plan.parties:
        if site not in stored:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has not registered with this guardian; start it with `ostraka party serve`.",
            )
        manifest = parsed(stored[site])
        if manifest.task_digest != plan.task_digest:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"Party {site} serves another task; give all sites the same task.toml and check it with"
                " `ostraka party check` and `ostraka query check`.",
            )
        result[site] = common_pb2.Participant(
            site=site,
            teachers=sum(group.teachers for group in manifest.groups),
            records=sum(group.records for group in manifest.groups),
            max_votes_per_person=manifest.max_votes_per_person,
            manifest_sha256=hashlib.sha256(stored[site].manifest).digest(),
        )
    check_ring(plan, voters(plan.mechanism, result.values()))
    return result


def voters(mechanism: AnyMechanism, parties: Iterable[common_pb2.Participant]) -> int:
    """How many votes a query's ballots of `parties` sum up to at most: teachers, or records in clusters."""
    by_record = isinstance(mechanism, NoiseCluster)
    return sum(party.records if by_record else party.teachers for party in parties)


def check_unchanged(
    granted: Iterable[common_pb2.Participant], current: Mapping[str, common_pb2.Participant]
) -> None:
    """Raise `manifest.changed` if a party registered other records or teachers since the grant."""
    for participant in granted:
        if current[participant.site] != participant:
            raise OstrakaError(
                ErrorCode.MANIFEST_CHANGED,
                f"Party {participant.site} registered other records or teachers since this session was"
                " opened; open a new session.",
            )


def units(stored: Mapping[str, StoredManifest], sites: Iterable[str], adjacency: str) -> list[UnitKey]:
    """The units of the records of `sites` under one adjacency, in ledger order."""
    return sorted(
        UnitKey(site, group.name, adjacency) for site in sites for group in parsed(stored[site]).groups
    )


def parsed(stored: StoredManifest) -> common_pb2.Manifest:
    """The manifest as a message."""
    return common_pb2.Manifest.FromString(stored.manifest)


class Admission:
    """Holds plans against a guardian's policy and ledger."""

    def __init__(self, ledger: Ledger, policy: Policy) -> None:
        """Take where manifests and budgets are, and the limits."""
        self._ledger = ledger
        self._policy = policy

    def admit(self, plan: Plan) -> tuple[dict[str, common_pb2.Participant], list[Budget]]:
        """The parties and budgets of a plan that may become a session, or the reason why it may not."""
        check_policy(plan, self._policy)
        chosen = participants(plan, self._ledger.manifests(plan.parties))
        budgets = self.budgets(plan, plan.parties)
        check_enforcement(budgets, self._policy)
        return chosen, budgets

    def budgets(self, plan: Plan, sites: Sequence[str]) -> list[Budget]:
        """What a release by `sites` is charged to; a record's charge debits its label budget too."""
        stored = self._ledger.manifests(plan.parties)
        labels = set(units(stored, sites, "label"))
        charged = self._ledger.budgets_of(units(stored, sites, plan.adjacency))
        if plan.adjacency == "label":
            return charged
        return charged + [b for b in self._ledger.budgets() if b.key in labels]
