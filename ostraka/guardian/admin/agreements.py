"""Agreements of parties, verified before an administrator may act on them."""

import math

from google.protobuf.message import DecodeError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role, verify_signed
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2


def read_agreement(signed: common_pb2.Signed, credentials: Credentials, clock: Clock) -> common_pb2.Agreement:
    """Return the agreement that a party of the guardian's federation signed about its own records.

    Whether it fits the unit as it stands (its number, the epsilon before) is for the ledger to check.

    Raises:
        OstrakaError: `agreement.invalid` for a signature that does not fit, another site's records, or
            contents out of range; identity.* for a certificate that nobody would accept now.
    """
    signer = verify_signed(
        signed,
        AGREEMENT_CONTEXT,
        ca_pem=credentials.ca_pem,
        clock=clock,
        federation=credentials.identity.federation,
        role=Role.PARTY,
        invalid=ErrorCode.AGREEMENT_INVALID,
        revocations=credentials.revocations,
    )
    try:
        agreed = common_pb2.Agreement.FromString(signed.payload)
    except DecodeError:
        raise _invalid("cannot be read") from None
    problem = _problem(agreed, signer.site)
    if problem is not None:
        raise _invalid(problem)
    return agreed


def _problem(agreed: common_pb2.Agreement, signer: str) -> str | None:
    if agreed.site != signer:
        return f"is about records of {agreed.site!r} but signed by {signer}"
    if agreed.action not in {"raise", "consent"}:
        return f"is to {agreed.action!r}, which is neither raise nor consent"
    if agreed.action == "raise" and not 0 < agreed.epsilon_before < agreed.epsilon < math.inf:
        return f"does not raise: epsilon {agreed.epsilon_before:g} to {agreed.epsilon:g}"
    return None


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.AGREEMENT_INVALID,
        f"The agreement {problem}; have the party sign it again with `ostraka party sign-raise` or"
        " `sign-consent`.",
    )
