"""Registers what a party declares about its records and teachers, and takes its receipts."""

from collections.abc import Iterable, Sequence

import structlog

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, verify_signed
from ostraka.common.wire.contexts import AUDIT_CONTEXT, MANIFEST_CONTEXT
from ostraka.common.wire.limits import check_numbers
from ostraka.guardian.ledger import Ledger, Registered, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import manifests, parties, policies
from ostraka.guardian.ledger.registrations import Registration
from ostraka.guardian.ledger.store.values import StoredManifest
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.members import manifest_limits
from ostraka.guardian.members.manifest_limits import groups_of, problem_of, votes_of
from ostraka.guardian.members.receipts import read_receipts, worst_cases
from ostraka.guardian.policy import Policies
from ostraka.guardian.sessions.policy_checks import not_added
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

_Wanted = tuple[StoredManifest, common_pb2.AuditHead | None]
"""A manifest to register, and the head that its party kept."""


class Registrar:
    """Checks what parties signed and keeps it in the ledger."""

    def __init__(self, ledger: Ledger, credentials: Credentials, policies: Policies, clock: Clock) -> None:
        """Take the ledger, what signatures are verified against, and who may register."""
        self._ledger = ledger
        self._credentials = credentials
        self._policies = policies
        self._clock = clock

    def register(self, party: Identity, request: guardian_pb2.RegisterRequest) -> Registered:
        """Keep `party`'s manifest; a new one resets no budget.

        A head that the party kept, and that this ledger's log does not have, proves a lost history.

        Raises:
            OstrakaError: `policy.refused`, `party.removed`, `manifest.daily_limit`; `message.too_large`
                for lists and texts beyond their limits; `manifest.invalid` where signature, site or
                contents are wrong; `message.invalid` for a head that this guardian did not sign.
        """
        signed = request.manifest
        self._verify(signed, MANIFEST_CONTEXT, Role.PARTY, party.site, ErrorCode.MANIFEST_INVALID)
        problem = problem_of(signed.payload, party.site)
        if problem is not None:
            raise OstrakaError(
                ErrorCode.MANIFEST_INVALID,
                f"The manifest of {party.site} {problem}; correct it and register again.",
            )
        kept = self._kept(request.kept_head) if request.HasField("kept_head") else None
        manifest = StoredManifest(party.site, signed.payload, signed.SerializeToString())
        return self._ledger.write_grouped(self._register, party.site, (manifest, kept))

    def _register(self, tx: Transaction, wanted: Sequence[_Wanted]) -> list[Registered]:
        """Register manifests of parties that the policy lets in, as what they change of those before."""
        before = registrations.known(tx, [manifest.site for manifest, _ in wanted])
        if self._policies.of(policies.in_force(tx)).admission == "added":
            for site, party in before.items():
                if party.row is None:
                    raise not_added(site)
        changes = [_registration(manifest, before[manifest.site].latest, kept) for manifest, kept in wanted]
        return registrations.register_all(tx, changes, before)

    def newer_revocations(self, number: int) -> bytes:
        """Return the revocation list in force (PEM) where newer than a party's `number`; else empty."""
        current = self._credentials.revocations.current
        return current.pem if current.number > number else b""

    def reconcile(
        self, party: Identity, requests: Iterable[guardian_pb2.ReconcileRequest]
    ) -> guardian_pb2.ReconcileReply:
        """Charge what a restored ledger forgot of `party`'s batches, once its whole stream is in.

        Nothing is read of a party that owes no receipts: a retry after a lost reply charges nothing.

        Raises:
            OstrakaError: `party.unknown`; `message.invalid` for receipts that `party` did not sign or that
                say nothing, `message.too_large`, `budget.missing`.
        """
        charged = 0
        if self._owes_receipts(party.site):
            told = read_receipts(requests, party, credentials=self._credentials, clock=self._clock)
            owed = self._ledger.read(worst_cases, party.site, told.receipts)
            now = self._manifest_of(party.site)
            before = self._ledger.read(reconcile.manifests_before_loss, party.site)
            declared = [*told.declared_votes, *map(votes_of, [] if now is None else [now])]
            charged = self._ledger.write(
                reconcile.reconcile,
                party.site,
                owed,
                groups=_groups(now),
                entered=_groups(now) - _groups(before[-1] if before else None),
                votes_raised_to=manifest_limits.raised_unknown([votes_of(each) for each in before], declared),
            )
        return guardian_pb2.ReconcileReply(
            audit_head=self._ledger.read(audit.head),
            epoch=self._ledger.read(parties.epoch),
            charged=charged,
        )

    def _owes_receipts(self, site: str) -> bool:
        """Whether a party must reconcile; raises `party.unknown`."""
        found = self._ledger.read(parties.all_parties, site)
        if not found:
            raise parties.unknown(site)
        return not found[0].reconciled

    def _manifest_of(self, site: str) -> bytes | None:
        """Return the manifest that a party registered last, serialized; None before the first."""
        kept = self._ledger.read(manifests.latest, [site]).get(site)
        return None if kept is None else kept.manifest

    def _kept(self, head: common_pb2.AuditHead) -> common_pb2.AuditHead | None:
        """Return a head that this guardian signed; None if its certificate has expired or was revoked."""
        guardian = self._credentials.identity.site
        try:
            self._verify(head.signed, AUDIT_CONTEXT, Role.GUARDIAN, guardian, ErrorCode.MESSAGE_INVALID)
        except OstrakaError as exc:
            if exc.code not in (ErrorCode.IDENTITY_EXPIRED, ErrorCode.IDENTITY_REVOKED):
                raise
            structlog.get_logger().warning("kept_head_unproved", sequence=head.sequence, code=exc.code)
            return None
        if head.signed.payload != head.sequence.to_bytes(8, "big") + head.hash:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The kept audit head is not the one that was signed; send it as it came.",
            )
        check_numbers(head)
        return head

    def _verify(
        self, signed: common_pb2.Signed, context: bytes, role: Role, site: str, invalid: ErrorCode
    ) -> None:
        verify_signed(
            signed,
            context,
            ca_pem=self._credentials.ca_pem,
            clock=self._clock,
            federation=self._credentials.identity.federation,
            role=role,
            site=site,
            invalid=invalid,
            revocations=self._credentials.revocations,
        )


def _registration(
    now: StoredManifest, before: StoredManifest | None, kept: common_pb2.AuditHead | None
) -> Registration:
    old = None if before is None else before.manifest
    entering = groups_of(now.manifest) - _groups(old)
    votes = [votes_of(manifest) for manifest in (old, now.manifest) if manifest is not None]
    return Registration(now, kept, entering, manifest_limits.raised_to(votes))


def _groups(manifest: bytes | None) -> set[str]:
    return set() if manifest is None else groups_of(manifest)
