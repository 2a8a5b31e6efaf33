"""Registers what a party declares about its records and teachers."""

from google.protobuf.message import DecodeError

from common.clock import Clock
from common.errors import ErrorCode, OstrakaError
from common.identity import Identity, Role, verify_signed
from common.protocol import MANIFEST_CONTEXT
from guardian.ledger import Ledger
from guardian.policy import Policy
from protos.ostraka.v1 import common_pb2


class Registrar:
    """Checks signed manifests and keeps them in the ledger."""

    def __init__(self, ledger: Ledger, ca_pem: bytes, federation: str, policy: Policy, clock: Clock) -> None:
        """Take the ledger, what a signature is verified against, and who may register."""
        self._policy = policy
        self._ledger = ledger
        self._ca_pem = ca_pem
        self._federation = federation
        self._clock = clock

    def register(self, party: Identity, signed: common_pb2.Signed) -> common_pb2.AuditHead:
        """Keep `party`'s manifest and return the audit head; a new one resets no budget.

        Raises:
            OstrakaError: `policy.refused`; `manifest.invalid` where signature, site or contents are wrong.
        """
        verify_signed(
            signed,
            MANIFEST_CONTEXT,
            ca_pem=self._ca_pem,
            clock=self._clock,
            federation=self._federation,
            role=Role.PARTY,
            site=party.site,
            invalid=ErrorCode.MANIFEST_INVALID,
        )
        if not self._policy.allows(party.site):
            raise OstrakaError(
                ErrorCode.POLICY_REFUSED,
                f"The guardian's policy does not list party {party.site}; ask its administrator.",
            )
        problem = _problem(signed.payload, party.site)
        if problem is not None:
            raise OstrakaError(
                ErrorCode.MANIFEST_INVALID,
                f"The manifest of {party.site} {problem}; correct it and register again.",
            )
        return self._ledger.register(party.site, signed.payload, signed.SerializeToString())


def _problem(payload: bytes, site: str) -> str | None:
    try:
        manifest = common_pb2.Manifest.FromString(payload)
    except DecodeError:
        return "cannot be read"
    names = [group.name for group in manifest.groups]
    if manifest.site != site:
        return f"names site {manifest.site!r}"
    if len(manifest.task_digest) != 32:
        return "lacks the digest of its task"
    if not names or len(set(names)) != len(names) or not all(names):
        return "needs at least one group, each with a name of its own"
    if any(group.teachers < 1 or group.records < group.teachers for group in manifest.groups):
        return "needs at least one teacher a group and one record a teacher"
    if manifest.max_votes_per_person < 1:
        return "must say what one person can change in one query (max_votes_per_person >= 1)"
    return None
