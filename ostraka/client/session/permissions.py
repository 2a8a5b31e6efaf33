"""Checks of the guardian's signed grants and tickets against the request."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from ostraka.common.clock import Clock
from ostraka.common.crypto.logits import HEADS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, read_signed
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.plan.signed_lists import H, with_all
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Permissions:
    """Reads grants and tickets for this site; `guardian` must be the signer."""

    credentials: Credentials
    guardian: Identity
    clock: Clock

    def grant(self, sent: common_pb2.SignedList, plan_bytes: bytes) -> common_pb2.Grant:
        """Return the grant for a plan; raise `grant.invalid` or `identity.*` if it is invalid."""
        grant = self._read(sent, GRANT_CONTEXT, common_pb2.Grant(), ErrorCode.GRANT_INVALID)
        plan = Plan.parse(plan_bytes)
        sites = [participant.site for participant in grant.participants]
        fits = (
            grant.session_id
            and grant.protocol_version == PROTOCOL_VERSION
            and grant.plan_digest == digest(plan_bytes)
            and grant.querier == self.credentials.identity.uri
            and grant.ring_bits == plan.ring_bits
            and grant.max_batch > 0
            and len(set(sites)) == len(sites) >= plan.quorum
            and set(sites) <= set(plan.parties)
            and all(_whole(participant) for participant in grant.participants)
            and grant.teachers == sum(participant.teachers for participant in grant.participants)
            and (plan.encoding == "plain" or all(one.head in HEADS for one in grant.participants))
        )
        if not fits:
            raise OstrakaError(
                ErrorCode.GRANT_INVALID,
                "The guardian granted something else than was asked: use the same version everywhere.",
            )
        return grant

    def require_current(self, grant: common_pb2.Grant) -> None:
        """Raise `grant.expired` or `grant.not_yet_valid` unless the grant is valid now, skew allowed."""
        now = self.clock.now()
        skew = grant.allowed_skew_s
        if now > grant.expires_unix_s + skew:
            raise OstrakaError(
                ErrorCode.GRANT_EXPIRED,
                f"The session's grant ended {round(now - grant.expires_unix_s)} s ago by this site's clock: "
                "do what is left in a new run, under another --out, or check the clocks.",
            )
        if self.begins_later(grant):
            begins = datetime.fromtimestamp(grant.not_before_unix_s, UTC)
            raise OstrakaError(
                ErrorCode.GRANT_NOT_YET_VALID,
                f"The grant begins at {begins:%Y-%m-%d %H:%M:%S} UTC, {round(begins.timestamp() - now)} s "
                f"from now by this site's clock and more than the {skew} s allowed: check the clocks of the "
                "guardian and of this site, then run this again.",
            )

    def begins_later(self, grant: common_pb2.Grant) -> bool:
        """Whether the grant is not valid yet, with the allowed skew."""
        return self.clock.now() < grant.not_before_unix_s - grant.allowed_skew_s

    def ticket(
        self, sent: common_pb2.SignedList, grant: common_pb2.Grant, *, batch_id: int, size: int, quorum: int
    ) -> common_pb2.Ticket:
        """Return the ticket of a batch, in which at least `quorum` parties vote on every query.

        Raises `ticket.invalid` or `identity.*` if it is not such a ticket.
        """
        ticket = self._read(sent, TICKET_CONTEXT, common_pb2.Ticket(), ErrorCode.TICKET_INVALID)
        granted = {participant.site: participant for participant in grant.participants}
        sites = [schedule.participant.site for schedule in ticket.schedule]
        fits = (
            (ticket.session_id, ticket.batch_id, ticket.size) == (grant.session_id, batch_id, size)
            and len(set(sites)) == len(sites) >= quorum
            and all(granted.get(one.participant.site) == one.participant for one in ticket.schedule)
            and _fewest_parties(ticket) >= quorum
        )
        if not fits:
            raise OstrakaError(
                ErrorCode.TICKET_INVALID,
                "The guardian's ticket is not for the batch that was asked: use the same version everywhere.",
            )
        return ticket

    def _read(self, sent: common_pb2.SignedList, context: bytes, header: H, code: ErrorCode) -> H:
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
        return with_all(sent, read, code)


def _whole(participant: common_pb2.Participant) -> bool:
    """Whether the cohorts contain all of a party's teachers, and the copies of their groups."""
    cohorts = participant.cohorts
    named = all(cohort.groups and len(cohort.groups) == len(cohort.copies) for cohort in cohorts)
    return named and sum(cohort.teachers for cohort in cohorts) == participant.teachers


def _fewest_parties(ticket: common_pb2.Ticket) -> int:
    """Return the minimum, over queries, of how many parties vote on it."""
    voting = [read_schedule(one, ticket.size).any(axis=0) for one in ticket.schedule]
    return int(np.sum(voting, axis=0).min())
