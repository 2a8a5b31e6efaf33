"""Plans and grants that came with a vote once, so that later votes of their sessions need only name them."""

import hashlib
import threading
from dataclasses import dataclass

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Checker, Permission

KEPT = 8
"""Sessions of one querying party that are kept, each in the 4 MiB at most that a header has; the one that
was used longest ago goes for every new one."""

Key = tuple[str, bytes]
"""A querying party, and the digest that names one of its grants."""


@dataclass(frozen=True)
class _Kept:
    """What of a header is the same in every batch of its session, until the grant ends."""

    header: party_pb2.VoteHeader
    ends_at: float


class KeptGrants:
    """Finds for headers that name a grant what came with it; safe to use from many threads.

    What is kept is only what need not be sent again. It is held against signature, clock, revocations and
    everything else for every batch, as if it had just come.
    """

    def __init__(self, checker: Checker) -> None:
        """Keep nothing yet."""
        self._checker = checker
        self._kept: dict[Key, _Kept] = {}
        self._lock = threading.Lock()

    def check(self, header: party_pb2.VoteHeader, querier: Identity) -> Permission:
        """Return what the header of a vote permits to `querier`, and keep what came with it.

        Raises as `Checker.check`, `grant.unknown` where it names what this querying party never sent or what
        is not kept any more, `message.invalid` where it both brings and names a grant.
        """
        if not header.grant_sha256:
            permission = self._checker.check(header, querier, header.rows)
            self._keep(header, permission)
            return permission
        if header.plan or header.HasField("grant"):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "A vote's header brings a grant and names one: send plan and grant, or the digest alone.",
            )
        whole = party_pb2.VoteHeader()
        whole.CopyFrom(header)
        whole.MergeFrom(self._find((querier.uri, header.grant_sha256)))
        return self._checker.check(whole, querier, header.rows)

    def _find(self, key: Key) -> party_pb2.VoteHeader:
        with self._lock:
            kept = self._kept.pop(key, None)
            if kept is None:
                raise OstrakaError(
                    ErrorCode.GRANT_UNKNOWN,
                    "This party keeps no such grant of this querying party, or not any more: send the header "
                    "with plan and grant.",
                )
            self._kept[key] = kept
            return kept.header

    def _keep(self, header: party_pb2.VoteHeader, permission: Permission) -> None:
        """Keep what came with a batch that is permitted; drop what is over, and what is too much."""
        querier, now = permission.grant.querier, self._checker.clock.now()
        key = querier, hashlib.sha256(header.grant.signed.payload).digest()
        same = party_pb2.VoteHeader(plan=header.plan, grant=header.grant)
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = _Kept(same, permission.ends_at)
            over = [known for known, kept in self._kept.items() if kept.ends_at < now]
            own = [known for known in self._kept if known[0] == querier]
            for known in {*over, *own[:-KEPT]}:
                del self._kept[known]
