"""Registers what a party declares about its records and teachers, and takes its receipts."""

import re
from collections.abc import Iterable

import structlog
from google.protobuf.message import DecodeError

from common.clock import Clock
from common.datasets.consent import LEVEL
from common.errors import ErrorCode, OstrakaError
from common.identity import Credentials, Identity, Role, verify_signed
from common.protocol import AUDIT_CONTEXT, MANIFEST_CONTEXT
from guardian.ledger import Ledger
from guardian.ledger.values import Registered
from guardian.policy import Policies
from guardian.receipts import read_receipts, worst_cases
from guardian.sessions.checks import not_added
from guardian.sessions.trainings import TOGETHER
from protos.ostraka.v1 import common_pb2, guardian_pb2

_NAME = re.compile(LEVEL)


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
            OstrakaError: `policy.refused`, `party.removed`; `manifest.invalid` where signature, site or
                contents are wrong; `message.invalid` for a head that this guardian did not sign.
        """
        signed = request.manifest
        self._verify(signed, MANIFEST_CONTEXT, Role.PARTY, party.site, ErrorCode.MANIFEST_INVALID)
        if self._policies.current().admission == "added" and not self._ledger.parties(party.site):
            raise not_added(party.site)
        problem = _problem(signed.payload, party.site)
        if problem is not None:
            raise OstrakaError(
                ErrorCode.MANIFEST_INVALID,
                f"The manifest of {party.site} {problem}; correct it and register again.",
            )
        kept = self._kept(request.kept_head) if request.HasField("kept_head") else None
        return self._ledger.register(
            party.site,
            signed.payload,
            signed.SerializeToString(),
            kept_head=kept,
            entering=_groups(signed.payload) - self._groups_of(party.site),
        )

    def newer_revocations(self, number: int) -> bytes:
        """The revocation list in force (PEM) where it is newer than a party's `number`; else empty."""
        current = self._credentials.revocations.current
        return current.pem if current.number > number else b""

    def reconcile(
        self, party: Identity, requests: Iterable[guardian_pb2.ReconcileRequest]
    ) -> guardian_pb2.ReconcileReply:
        """Charge what a restored ledger forgot of `party`'s batches, once its whole stream is in.

        Raises:
            OstrakaError: `message.invalid` for receipts that `party` did not sign or that say nothing,
                `message.too_large`, `budget.missing`.
        """
        receipts = read_receipts(requests, party, credentials=self._credentials, clock=self._clock)
        owed = worst_cases(self._ledger, party.site, receipts)
        charged = self._ledger.reconcile(party.site, owed, groups=self._groups_of(party.site))
        return guardian_pb2.ReconcileReply(
            audit_head=self._ledger.head(), epoch=self._ledger.epoch(), charged=charged
        )

    def _groups_of(self, site: str) -> set[str]:
        """The groups of the manifest that a party registered last; none before the first."""
        kept = self._ledger.manifests([site]).get(site)
        return set() if kept is None else _groups(kept.manifest)

    def _kept(self, head: common_pb2.AuditHead) -> common_pb2.AuditHead | None:
        """A head that this guardian signed; None if its certificate has expired since, or was revoked."""
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


def _groups(manifest: bytes) -> set[str]:
    return {group.name for group in common_pb2.Manifest.FromString(manifest).groups}


def _problem(payload: bytes, site: str) -> str | None:
    try:
        manifest = common_pb2.Manifest.FromString(payload)
    except DecodeError:
        return "cannot be read"
    if manifest.site != site:
        return f"names site {manifest.site!r}"
    if len(manifest.task_digest) != 32:
        return "lacks the digest of its task"
    if manifest.max_votes_per_person < 1:
        return "must say what one person can change in one query (max_votes_per_person >= 1)"
    if manifest.together not in TOGETHER:
        return f"says that its teachers learned by {manifest.together!r}, which this version does not know,"
    if manifest.shared_features and manifest.together:
        return "says that its teachers learned with those of others, and from labels of their own alone"
    if list(manifest.abstains) != sorted(set(manifest.abstains)):
        return "must name labels on which its teachers do not vote once each, in rising order (abstains)"
    return _problem_of_groups(manifest)


def _problem_of_groups(manifest: common_pb2.Manifest) -> str | None:
    groups = manifest.groups
    names = [group.name for group in groups]
    if not names or len(set(names)) != len(names) or not all(_NAME.fullmatch(name) for name in names):
        return "needs at least one group, each with a name of its own in small letters, digits and hyphens"
    if any(group.teachers < 1 or group.records < 1 for group in groups):
        return "needs at least one teacher and one record a group"
    if any(not 1 <= group.copies <= group.teachers for group in groups):
        return "must say how many teachers a record of each group touches (copies, one at least)"
    if manifest.mixed:
        return _problem_of_mixed(manifest)
    if any(group.copies != 1 for group in groups):
        return "has copies of records among teachers of one group; only mixed teachers share records"
    if any(group.records < group.teachers for group in groups):
        return "needs at least one record a teacher"
    return None


def _problem_of_mixed(manifest: common_pb2.Manifest) -> str | None:
    teachers = {group.teachers for group in manifest.groups}
    if len(teachers) > 1:
        return "has mixed teachers and not the same number of them for every group"
    if sum(group.records * group.copies for group in manifest.groups) < max(teachers):
        return "needs at least one record a teacher"
    return None
