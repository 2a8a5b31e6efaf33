"""Admission of a plan as a session: policy, parties, budgets, ring. Nothing here depends on votes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cryptography.x509 import load_der_x509_certificate

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.revocation import Revocations
from ostraka.common.plan.limits import check_ring
from ostraka.common.plan.plan import Plan
from ostraka.common.verified.parts import check_parts
from ostraka.guardian.blind.blind_tally import check_messages
from ostraka.guardian.ledger import Budget, LedgerReader, StoredManifest, UnitKey
from ostraka.guardian.ledger.members import manifests, parties
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.cohorts import ONE_VOTE_STEPS, Cohort, cohort_messages, cohorts_of
from ostraka.guardian.sessions.payers import budgets_of
from ostraka.guardian.sessions.planned_voters import check_planned_quorum, plan_voters
from ostraka.guardian.sessions.policy_checks import (
    check_enforcement,
    check_heads,
    check_manifest,
    check_parties,
    check_policy,
)
from ostraka.guardian.sessions.trainings import check_guarantee
from ostraka.guardian.sessions.weights import weights
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Admitted:
    """The parties of a plan that may become a session.

    Attributes:
        participants: in the form of a grant, by site in the plan's order.
        manifests: their declarations.
        cohorts: their teachers, by cohort in the order of the participants.
        budgets: all budgets that the plan's releases would charge.
    """

    participants: dict[str, common_pb2.Participant]
    manifests: dict[str, common_pb2.Manifest]
    cohorts: tuple[Cohort, ...]
    budgets: dict[UnitKey, Budget]


def admit(
    ledger: LedgerReader, policy: Policy, plan: Plan, plan_digest: bytes, revocations: Revocations
) -> Admitted:
    """Return the parties, cohorts and budgets of a plan that may become a session.

    Raises:
        OstrakaError: `policy.refused`, `party.*`, `task.mismatch`, `budget.missing`, `plan.invalid`,
            `plan.ring_too_small`, or `quorum.lost` where the schedule leaves some queries to too few parties.
    """
    check_policy(plan, policy)
    check_messages(plan)
    check_parties(plan, ledger.read(parties.all_parties), policy)
    signed = require_registered(ledger.read(manifests.latest, plan.parties), plan)
    check_signers(signed, revocations)
    stored = {site: parse_manifest(manifest) for site, manifest in signed.items()}
    chosen = {site: _participant(plan, stored[site], signed[site]) for site in plan.parties}
    check_guarantee(plan, chosen.values(), policy)
    check_heads(plan, chosen.values(), policy)
    cohorts = all_cohorts(plan, chosen.values(), stored)
    budgets = ledger.read(budgets_of, plan, cohorts)
    check_enforcement(budgets.values(), policy.enforce)
    if plan.variant == "weighting":
        _weigh(plan, chosen, cohorts, budgets)
        cohorts = all_cohorts(plan, chosen.values(), stored)
    check_ring(plan, math.ceil(sum(cohort.total for cohort in cohorts) / ONE_VOTE_STEPS))
    if plan.ballots == "verified":
        for participant in chosen.values():
            check_parts(plan, participant)
    first = plan_voters(plan, plan_digest, cohorts, budgets, batch_id=0, size=plan.batch_size)
    check_planned_quorum(plan, first)
    return Admitted(chosen, stored, cohorts, budgets)


def require_registered(stored: Mapping[str, StoredManifest], plan: Plan) -> dict[str, StoredManifest]:
    """Return the manifests of a plan's parties.

    Raises:
        OstrakaError: `party.unknown` for a party without a manifest, and as `check_manifest`.
    """
    for site in plan.parties:
        if site not in stored:
            raise OstrakaError(
                ErrorCode.PARTY_UNKNOWN,
                f"Party {site} has not registered with this guardian; start it with `ostraka party serve`.",
            )
        check_manifest(plan, parse_manifest(stored[site]))
    return dict(stored)


def require_unchanged(
    granted: Iterable[common_pb2.Participant], current: Mapping[str, StoredManifest], quorum: int
) -> list[common_pb2.Participant]:
    """Return the participants that registered nothing else since the grant.

    The session goes on without the others: one party must not be able to end it for all.

    Raises `manifest.changed` if fewer than the quorum are left.
    """
    parties = {party.site: party for party in granted}
    changed = {site for site, party in parties.items() if digest_of(current[site]) != party.manifest_sha256}
    if len(parties) - len(changed) < quorum:
        raise manifest_changed(changed)
    return [party for site, party in parties.items() if site not in changed]


def manifest_changed(sites: Collection[str]) -> OstrakaError:
    """Return the error for a session that cannot go on without these parties."""
    return OstrakaError(
        ErrorCode.MANIFEST_CHANGED,
        f"{', '.join(sorted(sites))} registered other records or teachers since this session was opened, and"
        " it cannot go on without them; open a new session.",
    )


def all_cohorts(
    plan: Plan, participants: Iterable[common_pb2.Participant], stored: Mapping[str, common_pb2.Manifest]
) -> tuple[Cohort, ...]:
    """Return the cohorts of all participants, in their order."""
    return tuple(
        cohort
        for participant in participants
        for cohort in cohorts_of(
            participant, stored[participant.site], plan.mechanism, plan.columns_of(participant.abstains)
        )
    )


def parse_manifest(stored: StoredManifest) -> common_pb2.Manifest:
    """Return the manifest as a message."""
    return common_pb2.Manifest.FromString(stored.manifest)


def digest_of(stored: StoredManifest) -> bytes:
    """SHA-256 of a serialized manifest."""
    return hashlib.sha256(stored.manifest).digest()


def _participant(plan: Plan, manifest: common_pb2.Manifest, stored: StoredManifest) -> common_pb2.Participant:
    cohorts = cohort_messages(manifest, plan.mechanism)
    return common_pb2.Participant(
        site=stored.site,
        teachers=sum(cohort.teachers for cohort in cohorts),
        records=sum(group.records for group in manifest.groups),
        max_votes_per_person=manifest.max_votes_per_person,
        manifest_sha256=digest_of(stored),
        cohorts=cohorts,
        head=manifest.head,
        together=manifest.together,
        abstains=manifest.abstains,
        shared_features=manifest.shared_features,
        whole_persons=manifest.whole_persons,
    )


def _weigh(
    plan: Plan,
    participants: Mapping[str, common_pb2.Participant],
    cohorts: Sequence[Cohort],
    budgets: Mapping[UnitKey, Budget],
) -> None:
    """Write each cohort's weight into its participant's message."""
    steps = iter(weights(plan, cohorts, budgets))
    for participant in participants.values():
        for message in participant.cohorts:
            message.weight = next(steps)


def find_revoked(manifests: Mapping[str, StoredManifest], revocations: Revocations) -> set[str]:
    """Return the sites that must register with a new certificate before they answer again."""
    if not revocations.number:
        return set()
    return {site for site, stored in manifests.items() if _is_revoked(stored, revocations)}


def check_signers(manifests: Mapping[str, StoredManifest], revocations: Revocations) -> None:
    """Raise `party.suspended` for a party whose manifest no longer has a valid signer."""
    for site in sorted(find_revoked(manifests, revocations)):
        raise OstrakaError(
            ErrorCode.PARTY_SUSPENDED,
            f"The certificate that party {site} registered with was revoked; leave it out of the plan until"
            " it registered with a new one.",
            party=site,
        )


def _is_revoked(stored: StoredManifest, revocations: Revocations) -> bool:
    signed = common_pb2.Signed.FromString(stored.signed)
    return revocations.revokes(load_der_x509_certificate(signed.certificate_der))
