"""Registers what a party declares about its records and teachers, within limits, and takes its receipts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

import structlog
from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.datasets.consent import LEVEL
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, verify_signed
from ostraka.common.wire.contexts import AUDIT_CONTEXT, MANIFEST_CONTEXT
from ostraka.common.wire.limits import check_limits, check_numbers
from ostraka.guardian.ledger import Ledger, Registered, reconcile, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import manifests, parties, policies
from ostraka.guardian.ledger.registrations import Registration
from ostraka.guardian.ledger.store.values import StoredManifest
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.members.receipts import read_receipts, worst_cases
from ostraka.guardian.policy import Policies
from ostraka.guardian.sessions.policy_checks import not_added
from ostraka.guardian.sessions.trainings import TOGETHER
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

_NAME = re.compile(LEVEL)


def groups_of(manifest: bytes) -> set[str]:
    """Return the names of the groups of a serialized manifest."""
    return {group.name for group in common_pb2.Manifest.FromString(manifest).groups}


def votes_of(manifest: bytes) -> int:
    """Return the number of votes of one person in a query, from a serialized manifest."""
    return int(common_pb2.Manifest.FromString(manifest).max_votes_per_person)


def problem_of(payload: bytes, site: str) -> str | None:
    """Return what is wrong with a serialized manifest of `site`, as the end of a sentence, or None.

    Raises:
        OstrakaError: `message.too_large` for lists and texts beyond their limits.
    """
    try:
        manifest = common_pb2.Manifest.FromString(payload)
    except DecodeError:
        return "cannot be read"
    check_limits(manifest)
    if manifest.site != site:
        return f"names site {manifest.site!r}"
    if len(manifest.task_digest) != 32:
        return "lacks the digest of its task"
    texts = (manifest.training, manifest.head, manifest.encoder)
    if not all(text.isprintable() for text in texts):
        return "must say in printable characters how its teachers were trained and are evaluated"
    if len(manifest.encoder_sha256) not in (0, 32):
        return "has a digest of its encoder that is not a SHA-256"
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
    if any(group.records < 1 for group in groups):
        return "needs at least one record a group"
    if any(group.summed_records > group.records for group in groups):
        return "sums over more records of a group than it has"
    if not any(group.teachers for group in groups):
        return _problem_of_records_alone(manifest)
    if any(group.teachers < 1 for group in groups):
        return "needs at least one teacher a group, or none at all"
    if any(not 1 <= group.copies <= group.teachers for group in groups):
        return "must say how many teachers a record of each group touches (copies, one at least)"
    if manifest.mixed:
        return _problem_of_mixed(manifest)
    if any(group.copies != 1 for group in groups):
        return "has copies of records among teachers of one group; only mixed teachers share records"
    if any(group.records < group.teachers for group in groups):
        return "needs at least one record a teacher"
    return None


def _problem_of_records_alone(manifest: common_pb2.Manifest) -> str | None:
    """Return what is wrong with a manifest of records without teachers."""
    if any(group.copies != 1 for group in manifest.groups):
        return "has no teachers, and copies of records among them"
    if manifest.head or manifest.together or manifest.shared_features:
        return "has no teachers, and says how they learned or are evaluated"
    return None


def _problem_of_mixed(manifest: common_pb2.Manifest) -> str | None:
    teachers = {group.teachers for group in manifest.groups}
    if len(teachers) > 1:
        return "has mixed teachers and not the same number of them for every group"
    if sum(group.records * group.copies for group in manifest.groups) < max(teachers):
        return "needs at least one record a teacher"
    return None


def find_raise(declared: Sequence[int]) -> int | None:
    """Return the largest number that followed a smaller one; None if there is none."""
    return max((after for before, after in pairwise(declared) if after > before), default=None)


def find_unknown_raise(known: Sequence[int], declared: Sequence[int]) -> int | None:
    """Return the largest number of votes that a party raised to and a restored ledger does not know.

    A number that was raised and lowered again leaves no trace in the manifests that are left, so the party's
    own records count. These may include numbers that never reached a guardian or, if its journal is younger
    than the ledger, lack numbers that the ledger knows. Raising too much is better than too little.

    Args:
        known: the numbers in its manifests before the loss, in order.
        declared: the numbers that the party recorded, in order.
    """
    return find_raise([*known[-1:], *_after(known, declared)])


def _after(known: Sequence[int], declared: Sequence[int]) -> Sequence[int]:
    """Return what was declared after everything known, or all if it lacks something known."""
    rest = iter(declared)
    changes = [votes for votes, _ in groupby(known)]
    if all(votes in rest for votes in changes):
        return list(rest)
    return declared


_Wanted = tuple[StoredManifest, common_pb2.AuditHead | None]
"""A manifest to register, and the head that its party kept."""


class Registrar:
    """Checks what parties signed and stores it in the ledger."""

    def __init__(self, ledger: Ledger, credentials: Credentials, policies: Policies, clock: Clock) -> None:
        self._ledger = ledger
        self._credentials = credentials
        self._policies = policies
        self._clock = clock

    def register(self, party: Identity, request: guardian_pb2.RegisterRequest) -> Registered:
        """Store `party`'s manifest; a new one resets no budget.

        A head that the party kept, and that this ledger's log does not have, proves a lost history.

        Raises:
            OstrakaError: `policy.refused`, `party.removed`, `manifest.daily_limit`; `message.too_large` for
                lists and texts beyond their limits; `manifest.invalid` if signature, site or contents are
                wrong; `message.invalid` for a head that this guardian did not sign.
        """
        signed = request.manifest
        # The signature comes first: unsigned bytes are not even parsed.
        self._verify(signed, MANIFEST_CONTEXT, Role.PARTY, party.site, ErrorCode.MANIFEST_INVALID)
        problem = problem_of(signed.payload, party.site)
        if problem is not None:
            raise OstrakaError(
                ErrorCode.MANIFEST_INVALID,
                f"The manifest of {party.site} {problem}; correct it and register again.",
            )
        kept = self._check_head(request.kept_head) if request.HasField("kept_head") else None
        manifest = StoredManifest(party.site, signed.payload, signed.SerializeToString())
        return self._ledger.write_grouped(self._register, party.site, (manifest, kept))

    def _register(self, tx: Transaction, wanted: Sequence[_Wanted]) -> list[Registered]:
        """Register manifests of admitted parties, as changes of their previous ones."""
        before = registrations.lock_known(tx, [manifest.site for manifest, _ in wanted])
        if self._policies.of(policies.in_force(tx)).admission == "added":
            for site, party in before.items():
                if party.row is None:
                    raise not_added(site)
        changes = [_registration(manifest, before[manifest.site].latest, kept) for manifest, kept in wanted]
        return registrations.register_all(tx, changes, before)

    def newer_revocations(self, number: int) -> bytes:
        """Return the revocation list in force (PEM) if newer than a party's `number`; else empty."""
        current = self._credentials.revocations.current
        return current.pem if current.number > number else b""

    def reconcile(
        self, party: Identity, requests: Iterable[guardian_pb2.ReconcileRequest]
    ) -> guardian_pb2.ReconcileReply:
        """Charge what a restored ledger lost of `party`'s batches, after its whole stream has arrived.

        Nothing is read from a party that owes no receipts: a retry after a lost reply charges nothing.

        Raises:
            OstrakaError: `party.unknown`; `message.invalid` for receipts that `party` did not sign or that
                are empty, `message.too_large`, `budget.missing`.
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
                votes_raised_to=find_unknown_raise([votes_of(each) for each in before], declared),
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

    def _check_head(self, head: common_pb2.AuditHead) -> common_pb2.AuditHead | None:
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
    return Registration(now, kept, entering, find_raise(votes))


def _groups(manifest: bytes | None) -> set[str]:
    return set() if manifest is None else groups_of(manifest)
