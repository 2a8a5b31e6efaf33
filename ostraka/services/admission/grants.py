"""Grants and tickets checked against plan, clock and channel, and cached for later votes of their
sessions."""

import hashlib
import threading
from dataclasses import dataclass

import numpy as np
from cryptography.x509 import load_der_x509_certificate
from numpy.typing import NDArray

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, read_signed
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.schedules import read_schedule, ticket_invalid
from ostraka.common.plan.signed_lists import H, with_own
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, training_pb2
from ostraka.services.journal.limits import QueryCount

Asking = party_pb2.VoteHeader | party_pb2.SumHeader
"""Headers that may refer to an earlier grant."""
Request = Asking | party_pb2.BeginRequest | training_pb2.TrainHeader


@dataclass(frozen=True)
class GrantedSession:
    """What the guardian allows in a session.

    Attributes:
        plan: as it was sent.
        plan_digest: of the plan's bytes.
        grant: of the session.
        participant: this party, as the guardian describes it.
    """

    plan: Plan
    plan_digest: bytes
    grant: common_pb2.Grant
    participant: common_pb2.Participant


@dataclass(frozen=True)
class Permission(GrantedSession):
    """What the guardian allows now: one batch of a session, and which of this party's cohorts vote on what.

    Attributes:
        batch_id: of the batch.
        size: number of its queries.
        scheduled: which of the participant's cohorts vote on which query, (cohorts, size).
    """

    batch_id: int
    size: int
    scheduled: NDArray[np.bool_]

    @property
    def key(self) -> tuple[str, int]:
        """Session and batch id."""
        return self.grant.session_id, self.batch_id

    @property
    def query_count(self) -> QueryCount:
        """The querying party and its number of queries."""
        return QueryCount(self.grant.querier, self.size)

    @property
    def ends_at(self) -> float:
        """Unix seconds after which the grant is refused."""
        return float(self.grant.expires_unix_s + self.grant.allowed_skew_s)

    def digest(self, content: bytes, querier: Identity) -> bytes:
        """Return the SHA-256 of everything that a reply depends on; re-signing the ticket does not change
        it."""
        parts = (
            querier.uri.encode(),
            self.plan_digest,
            self.grant.session_id.encode(),
            str(self.batch_id).encode(),
            self.participant.SerializeToString(deterministic=True),
            np.packbits(self.scheduled, axis=1).tobytes(),
            hashlib.sha256(content).digest(),
        )
        # Lengths first, so different lists of parts never give the same bytes.
        lengths = b"".join(len(part).to_bytes(8, "little") for part in parts)
        return hashlib.sha256(lengths + b"".join(parts)).digest()


@dataclass(frozen=True)
class Checker:
    """Checks requests against one guardian's signatures.

    `guardian` is the identity that must have signed; `credentials` name this site and contain the CA.
    """

    credentials: Credentials
    guardian: Identity
    clock: Clock

    def session(self, request: Request, peer: Identity, *, may_be_over: bool = False) -> GrantedSession:
        """Return what the plan and grant of a request permit to `peer`, batch by batch.

        With `may_be_over`, an expired grant is accepted too, for requests that release nothing.

        Raises `plan.invalid`, `grant.*` or `identity.*`.
        """
        plan = Plan.parse(request.plan)
        plan_digest = digest(request.plan)
        grant = self._read(request.grant, GRANT_CONTEXT, common_pb2.Grant(), ErrorCode.GRANT_INVALID)
        self._check_time(grant, may_be_over=may_be_over)
        self._check_grant(request.grant.signed, grant, plan, plan_digest, peer)
        return GrantedSession(plan, plan_digest, grant, _own(grant))

    def check(self, request: Request, peer: Identity, rows: int | None = None) -> Permission:
        """Return what the plan, grant and ticket of a request permit to `peer`.

        `rows` is the number of queries that came with it; None if they come later.

        Raises `plan.invalid`, `grant.*`, `ticket.invalid`, `batch.too_large` or `identity.*`.
        """
        session = self.session(request, peer)
        grant = session.grant
        ticket = self._read(request.ticket, TICKET_CONTEXT, common_pb2.Ticket(), ErrorCode.TICKET_INVALID)
        if ticket.session_id != grant.session_id:
            raise ticket_invalid("belongs to another session")
        sent = ticket.size if rows is None else rows
        if max(ticket.size, sent) > grant.max_batch or sent > ticket.size:
            raise OstrakaError(
                ErrorCode.BATCH_TOO_LARGE,
                f"The batch has {sent} queries, its ticket allows {ticket.size} and its grant "
                f"{grant.max_batch}: ask for a ticket of the batch's size, within the grant's limit.",
            )
        if sent != ticket.size or not sent:
            raise ticket_invalid(f"is for {ticket.size} queries and the batch has {sent}")
        return Permission(
            plan=session.plan,
            plan_digest=session.plan_digest,
            grant=grant,
            participant=session.participant,
            batch_id=ticket.batch_id,
            size=ticket.size,
            scheduled=read_schedule(_schedule(ticket, session.participant), ticket.size),
        )

    def _read(self, sent: common_pb2.SignedEntry, context: bytes, header: H, code: ErrorCode) -> H:
        """Return the guardian's signed header, with the single entry of its list that was sent."""
        read = read_signed(
            sent.signed,
            context,
            header,
            signer=self.guardian,
            ca_pem=self.credentials.ca_pem,
            clock=self.clock,
            invalid=code,
            revocations=self.credentials.revocations,
        )
        return with_own(sent, read, code)

    def _check_time(self, grant: common_pb2.Grant, *, may_be_over: bool) -> None:
        now = self.clock.now()
        skew = grant.allowed_skew_s
        if now < grant.not_before_unix_s - skew:
            early = round(grant.not_before_unix_s - now)
            raise OstrakaError(
                ErrorCode.GRANT_NOT_YET_VALID,
                f"The grant begins {early} s from now by this party's clock, more than the {skew} s allowed: "
                "check the clocks of the guardian and of this party.",
            )
        if now > grant.expires_unix_s + skew and not may_be_over:
            late = round(now - grant.expires_unix_s)
            raise OstrakaError(
                ErrorCode.GRANT_EXPIRED,
                f"The grant ended {late} s ago by this party's clock: open a new session, or check the "
                "clocks of the guardian and of this party.",
            )

    def _check_grant(
        self,
        signed: common_pb2.Signed,
        grant: common_pb2.Grant,
        plan: Plan,
        plan_digest: bytes,
        peer: Identity,
    ) -> None:
        own = self.credentials.identity.site
        checks = (
            (
                grant.protocol_version == PROTOCOL_VERSION,
                f"is of protocol {grant.protocol_version or 'none'}",
            ),
            (bool(grant.session_id), "names no session"),
            (grant.key_id == _key_id(signed), "names another signing key than signed it"),
            (grant.plan_digest == plan_digest, "was given for another plan"),
            (grant.querier == peer.uri, "was given to another querying party"),
            (grant.ring_bits == plan.ring_bits, "names another ring than the plan"),
            (own in plan.parties and _own(grant).site == own, f"does not name {own}"),
        )
        for holds, problem in checks:
            if not holds:
                raise OstrakaError(
                    ErrorCode.GRANT_INVALID,
                    f"The grant {problem}: open a session with this plan and send the grant it returns.",
                )


def _own(grant: common_pb2.Grant) -> common_pb2.Participant:
    """Return the single participant that came with a grant."""
    (participant,) = grant.participants
    return participant


def _schedule(ticket: common_pb2.Ticket, participant: common_pb2.Participant) -> common_pb2.Schedule:
    """Return the schedule that came with a ticket: this party's, described as in the grant."""
    (schedule,) = ticket.schedule
    if schedule.participant.site != participant.site:
        raise ticket_invalid(f"came with no schedule of {participant.site}")
    if schedule.participant != participant:
        raise ticket_invalid(f"describes {participant.site} otherwise than the grant")
    return schedule


def _key_id(signed: common_pb2.Signed) -> bytes:
    """Return the SHA-256 of the raw public key in the signer's certificate, which `verify_signed` checked."""
    key = load_der_x509_certificate(signed.certificate_der).public_key()
    return hashlib.sha256(key.public_bytes_raw()).digest()  # type: ignore[union-attr]


KEPT = 8
"""Maximum number of cached sessions per querying party, each at most a header's 4 MiB; the least recently
used one is dropped."""

Key = tuple[str, bytes]
"""A querying party, and the digest of one of its grants."""


@dataclass(frozen=True)
class _Kept:
    """The part of a header that is the same in every batch of its session, until the grant ends."""

    plan: bytes
    grant: common_pb2.SignedEntry
    ends_at: float


class KeptGrants:
    """Completes headers that refer to an earlier grant; thread-safe.

    The cache only saves sending the same bytes again. Signature, clock, revocations and everything else are
    checked for every batch, as if they had just been sent.
    """

    def __init__(self, checker: Checker) -> None:
        self._checker = checker
        self._kept: dict[Key, _Kept] = {}
        # Guards the order of entries, by which they are dropped: using a grant moves it to the end.
        self._lock = threading.Lock()

    def check(self, header: Asking, querier: Identity, rows: int) -> Permission:
        """Return what the header of a vote on `rows` queries permits to `querier`; cache its grant.

        The header of a sum has a single query.

        Raises as `Checker.check`; `grant.unknown` if it refers to a grant that this querying party never sent
        or that is no longer cached; `message.invalid` if it both contains and refers to a grant.
        """
        if not header.grant_sha256:
            permission = self._checker.check(header, querier, rows)
            self._keep(header, permission)
            return permission
        if header.plan or header.HasField("grant"):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "A vote's header brings a grant and names one: send plan and grant, or the digest alone.",
            )
        # Checked as if everything had just been sent: nothing in the cache is trusted.
        kept = self._find((querier.uri, header.grant_sha256))
        whole = party_pb2.SumHeader(plan=kept.plan, grant=kept.grant, ticket=header.ticket)
        return self._checker.check(whole, querier, rows)

    def _find(self, key: Key) -> _Kept:
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None:
                raise OstrakaError(
                    ErrorCode.GRANT_UNKNOWN,
                    "This party keeps no such grant of this querying party, or not any more: send the header "
                    "with plan and grant.",
                )
            self._kept[key] = kept
            return kept

    def _keep(self, header: Asking, permission: Permission) -> None:
        """Cache the plan and grant of a permitted batch; drop expired and excess entries."""
        querier = permission.grant.querier
        now = self._checker.clock.now()
        key = querier, hashlib.sha256(header.grant.signed.payload).digest()
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = _Kept(header.plan, header.grant, permission.ends_at)
            over = [known for known, kept in self._kept.items() if kept.ends_at < now]
            own = [known for known in self._kept if known[0] == querier]
            for known in {*over, *own[:-KEPT]}:
                del self._kept[known]
