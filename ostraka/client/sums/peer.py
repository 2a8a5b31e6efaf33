"""A party that sums over its own records, as a querying party calls it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

from ostraka.client.peers.async_peer import AsyncPeer, require_seed
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.common.rpc.metered import calling
from ostraka.common.rpc.steps import split
from ostraka.common.rpc.streaming import submit
from ostraka.protos.ostraka.v1 import party_pb2

SUM = "/ostraka.v1.Party/Sum"
SUM_S = 600.0
"""Deadline of a sum, in seconds: a party processes all its records once."""


@dataclass(frozen=True)
class AskedSum:
    """A question as it is sent to parties: each gets its own permissions, all the same bytes.

    `width` is the number of ring values in a share of the sum.
    """

    plan: bytes
    grant: SignedEntries
    ticket: SignedEntries
    data: bytes = field(repr=False)
    width: int

    @cached_property
    def sha256(self) -> bytes:
        """Digest of the question."""
        return hashlib.sha256(self.data).digest()

    @cached_property
    def chunks(self) -> tuple[bytes, ...]:
        """The messages after the header, serialized once for all parties."""
        return tuple(party_pb2.SumRequest(chunk=chunk).SerializeToString() for chunk in split(self.data))

    def messages(self, site: str) -> Iterator[bytes]:
        """Yield the serialized stream to `site`."""
        header = party_pb2.SumHeader(
            plan=self.plan,
            grant=self.grant.of(site),
            ticket=self.ticket.of(site),
            size=len(self.data),
            sha256=self.sha256,
        )
        yield party_pb2.SumRequest(header=header).SerializeToString()
        yield from self.chunks


class SumPeer(AsyncPeer):
    """One party that sums over its records."""

    async def add_up(self, asked: AskedSum) -> bytes:
        """Return the seed of this side's share of the party's sum; it stays in memory."""

        async def ask() -> party_pb2.VoteReplyHeader:
            with calling(SUM) as metadata:
                summing = self._open().stream_stream(
                    SUM, response_deserializer=party_pb2.VoteReplyHeader.FromString
                )
                stream = partial(asked.messages, self._site)
                answered: party_pb2.VoteReplyHeader = await submit(
                    summing, stream, timeout=SUM_S, metadata=metadata
                )
                return answered

        reply = await self._call(ask)
        return require_seed(self._site, reply, 1, asked.width)
