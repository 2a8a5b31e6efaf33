"""Grants and tickets: what the guardian signs, bound to everything that a party must check."""

import hashlib
from collections.abc import Collection, Iterable

from ostraka.common.identity import Credentials, Identity
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import read_grant, sign_list
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.guardian.policy import Policy
from ostraka.protos.ostraka.v1 import common_pb2


def sign_grant(
    credentials: Credentials,
    policy: Policy,
    *,
    session_id: str,
    plan: Plan,
    plan_digest: bytes,
    querier: Identity,
    participants: Collection[common_pb2.Participant],
    now: float,
) -> common_pb2.SignedList:
    """Sign the grant of a session; valid from `now` (unix seconds) for the policy's lifetime."""
    grant = common_pb2.Grant(
        session_id=session_id,
        plan_digest=plan_digest,
        querier=querier.uri,
        key_id=_key_id(credentials),
        protocol_version=PROTOCOL_VERSION,
        ring_bits=plan.ring_bits,
        participants=participants,
        max_batch=plan.batch_size,
        max_queries=plan.queries,
        not_before_unix_s=int(now),
        expires_unix_s=int(now + policy.grant_ttl_s),
        allowed_skew_s=int(policy.allowed_skew_s),
        enforce=policy.enforce,
        bound=policy.bound_of(plan),
        teachers=sum(participant.teachers for participant in participants),
    )
    return sign_list(credentials, GRANT_CONTEXT, grant)


def reissue_grant(credentials: Credentials, stored: bytes) -> common_pb2.SignedList:
    """Return a stored grant to issue it again; sign it anew if an earlier version signed it as a whole."""
    kept = common_pb2.SignedList.FromString(stored)
    if kept.HasField("signed"):
        return kept
    grant = read_grant(stored)
    grant.key_id = _key_id(credentials)
    grant.teachers = sum(participant.teachers for participant in grant.participants)
    return sign_list(credentials, GRANT_CONTEXT, grant)


def sign_ticket(
    credentials: Credentials,
    *,
    session_id: str,
    batch_id: int,
    size: int,
    schedule: Iterable[common_pb2.Schedule],
    freeze_at: float,
    expires_at: float,
) -> common_pb2.SignedList:
    """Sign the ticket of one batch; `freeze_at` and `expires_at` are in unix seconds."""
    ticket = common_pb2.Ticket(
        session_id=session_id,
        batch_id=batch_id,
        size=size,
        schedule=schedule,
        freeze_unix_ms=int(freeze_at * 1000),
        expires_unix_ms=int(expires_at * 1000),
    )
    return sign_list(credentials, TICKET_CONTEXT, ticket)


def _key_id(credentials: Credentials) -> bytes:
    """SHA-256 of the signing key's raw public key."""
    return hashlib.sha256(credentials.signing_public_key).digest()
