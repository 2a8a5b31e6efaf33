"""Checks of a plan against the federation's policy, before anything is granted."""

import math
from collections.abc import Collection, Iterable

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.encodings import QUERIES, missing_encoding
from ostraka.common.plan.plan import Plan, check_protected
from ostraka.guardian.ledger import Budget
from ostraka.guardian.ledger.store.values import StoredParty
from ostraka.guardian.mechanisms import rule_of
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.trainings import check_guarantee, check_learned
from ostraka.protos.ostraka.v1 import common_pb2


def check_policy(plan: Plan, policy: Policy) -> None:
    """Raise `policy.refused` naming the part of `plan` that the federation's policy does not allow."""
    rule_of(plan.mechanism)
    kinds = policy.mechanisms
    limits = [
        (plan.quorum >= policy.min_quorum, f"a quorum of at least {policy.min_quorum} parties"),
        (_least_sigma(plan) >= policy.min_sigma, f"noise of at least sigma {policy.min_sigma}"),
        (plan.batch_size <= policy.max_batch, f"batches of at most {policy.max_batch} queries"),
        (plan.queries <= policy.max_queries, f"at most {policy.max_queries} queries a session"),
        (policy.ballots in ("any", plan.ballots), "verified ballots (ballots verified)"),
        (policy.allows(plan.mechanism), f"a mechanism {_list_allowed(kinds)}"),
    ]
    for holds, wanted in limits:
        if not holds:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED, f"The guardian's policy asks for {wanted}; change the plan."
            )
    _check_encodings(plan, [], policy)
    if policy.enforce == "worst_case":
        return
    for hidden, hides, instead in (
        (plan.tally == "blind", "a blind tally hides", "tally aggregate"),
        (plan.noise == "parties", "noise from the parties hides", "noise guardian"),
    ):
        if hidden:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                "The guardian's policy enforces data-dependent costs, which depend on the histograms that"
                f" {hides}; choose {instead}.",
            )


def check_parties(plan: Plan, parties: Iterable[StoredParty], policy: Policy) -> None:
    """Raise if the administrators do not let a party of `plan` answer now.

    `party.suspended`, `party.removed`, `party.unreconciled`, or `policy.refused` for a party that nobody
    added although the policy's admission requires it.
    """
    known = {party.site: party for party in parties}
    for site in plan.parties:
        if site in known:
            _check_standing(known[site])
        elif policy.admission == "added":
            raise not_added(site)


def check_manifest(plan: Plan, manifest: common_pb2.Manifest) -> None:
    """Raise if a party that registered `manifest` cannot answer `plan`.

    `task.mismatch` for another task or public encoder, or for a way to learn other than a training's,
    `task.mismatch` or `plan.invalid` for labels that it abstains from, as in `check_abstains`, `plan.invalid`
    for teachers that do not protect what the plan charges, `party.not_encrypted` for encrypted queries to
    teachers that cannot be evaluated on them.
    """
    if manifest.task_digest != plan.task_digest:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"Party {manifest.site} serves another task; give all sites the same task.toml and check it with"
            " `ostraka party check` and `ostraka query check`.",
        )
    if (manifest.encoder, manifest.encoder_sha256) != (plan.encoder, plan.encoder_sha256):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"Party {manifest.site} trained with {_name_encoder(manifest.encoder)} but the plan names "
            f"{_name_encoder(plan.encoder)}; use the same encoder with the same weights at all sites.",
        )
    check_learned(plan, manifest)
    check_abstains(plan, manifest)
    check_protected(plan, manifest.site, shared_features=manifest.shared_features)
    if plan.encoding == "ckks" and not manifest.head:
        raise OstrakaError(
            ErrorCode.PARTY_NOT_ENCRYPTED,
            f"Teachers of party {manifest.site} cannot be evaluated on encrypted queries; let it train a head"
            " that can (`ostraka party train --head linear`), leave it out of the plan, or choose"
            " encoding plain.",
            party=manifest.site,
        )


def check_heads(plan: Plan, participants: Iterable[common_pb2.Participant], policy: Policy) -> None:
    """Raise `policy.refused` for encrypted queries to a kind of head that the policy does not list."""
    _check_encodings(plan, [participant.head for participant in participants], policy)


def check_enforcement(budgets: Iterable[Budget], enforce: str) -> None:
    """Raise `policy.refused` for a budget with an enforcement other than the policy's."""
    for budget in budgets:
        if budget.enforce != enforce:
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"The budget of {budget.key} is enforced as {budget.enforce} and the guardian's policy says"
                f" {enforce}; restore the policy that the budget was made under.",
            )


def check_still_allowed(plan: Plan, grant: common_pb2.Grant, policy: Policy) -> None:
    """Raise `policy.refused` if a policy applied since the grant does not allow its session."""
    check_policy(plan, policy)
    check_guarantee(plan, grant.participants, policy)
    check_heads(plan, grant.participants, policy)
    if grant.enforce != policy.enforce:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"The guardian's policy now enforces {policy.enforce} costs and this session was opened under"
            f" {grant.enforce}; keep what was released and open a new session.",
        )


def may_answer(party: StoredParty | None) -> bool:
    """Whether a party is in good standing."""
    return party is not None and party.state == "active" and party.reconciled


def not_added(site: str) -> OstrakaError:
    """Return the error for a party that an administrator must add first."""
    return OstrakaError(
        ErrorCode.POLICY_REFUSED,
        f"The guardian's policy admits parties that were added, and {site} was not; its administrator adds it"
        f" with `ostraka guardian party add {site}`.",
    )


def _check_encodings(plan: Plan, heads: Iterable[str], policy: Policy) -> None:
    missing = missing_encoding(plan, heads, policy.encodings)
    if missing is not None:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"The guardian's policy does not allow {QUERIES[missing]}; choose another encoding, leave parties"
            f' with such teachers out of the plan, or ask the administrators to add "{missing}" to the'
            " policy's encodings.",
        )


def _least_sigma(plan: Plan) -> float:
    """Return a plan's smallest noise scale; a mechanism without noise is allowed by its name alone."""
    return min(plan.mechanism.sigmas, default=math.inf)


def _list_allowed(kinds: Collection[str] | None) -> str:
    if kinds is not None:
        return f"out of {', '.join(kinds)}"
    return 'with a formal guarantee, and no sums over records (the policy\'s mechanisms would name "sums")'


def _name_encoder(encoder: str) -> str:
    return f"the encoder {encoder}" if encoder else "no encoder"


def _check_standing(party: StoredParty) -> None:
    site = party.site
    if party.state == "removed":
        raise OstrakaError(
            ErrorCode.PARTY_REMOVED,
            f"Party {site} was removed from the federation; leave it out of the plan.",
        )
    if party.state == "suspended":
        raise OstrakaError(
            ErrorCode.PARTY_SUSPENDED,
            f"Party {site} is suspended; leave it out of the plan, or have it resumed.",
        )
    if party.state == "active" and not party.reconciled:
        raise OstrakaError(
            ErrorCode.PARTY_UNRECONCILED,
            f"The guardian's ledger was restored and lacks the receipts of party {site}; restart its"
            " `ostraka party serve`, which sends them.",
        )


def check_abstains(plan: Plan, manifest: common_pb2.Manifest) -> None:
    """Raise if the labels that a party abstains from do not fit `plan`.

    `task.mismatch` unless they are some, not all, of the task's labels, `plan.invalid` for a mechanism or
    tally that needs the votes of every party on every label. A party that abstains from all labels of the
    plan is accepted: it just does not vote. Sums over records leave out labels that are not known.
    """
    if plan.mechanism.sums_records:
        return
    silent = len(plan.columns_of(manifest.abstains))
    if not manifest.abstains or (plan.labels and silent in (0, plan.classes)):
        return
    if not plan.labels and not (plan.multi_label and max(manifest.abstains) < plan.classes > silent):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"Party {manifest.site} registered that it abstains from labels that the plan's task does not"
            " have, or from all it has; let it correct abstains in [training] of its site.toml and train"
            " again.",
        )
    if not plan.counts_by_label:
        raise _needs_all(manifest.site, f"mechanism {plan.mechanism.kind}", "mechanism binary, tau or l1")
    if plan.tally == "blind":
        raise _needs_all(manifest.site, "tally blind", "tally aggregate")


def _needs_all(site: str, what: str, instead: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.PLAN_INVALID,
        f"Party {site} abstains from some labels and {what} needs its votes on all of them; leave it out of"
        f" the plan, or choose {instead}.",
    )
