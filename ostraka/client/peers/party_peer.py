"""An answering party as a querying party calls it: for votes on plain or encrypted queries."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import grpc
import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.async_peer import AsyncPeer, require_seed
from ostraka.client.peers.retry import Retry, StepCall
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.common.rpc import split
from ostraka.common.rpc.checked import CheckedAsyncChannel
from ostraka.common.rpc.metered import calling
from ostraka.common.rpc.streaming import exchange
from ostraka.common.rpc.watcher import Target
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.protos.ostraka.v1.party_pb2_grpc import PartyStub

BEGIN_S = 60.0
STEP_S = 600.0
"""Deadline of each step on encrypted queries, in seconds."""

T = TypeVar("T")


class PartyPeer:
    """Calls to one party that votes on encrypted queries; Begin opens a channel, which is reused."""

    def __init__(self, site: str, connect: Callable[[], grpc.Channel], retry: Retry) -> None:
        """Take how to open a channel to `site`; nothing is opened yet."""
        self._site = site
        self._connect = connect
        self._retry = retry
        self._channel: grpc.Channel | None = None

    def close(self) -> None:
        """Close the channel, which ends calls in progress; the next Begin opens another one."""
        channel = self._channel
        self._channel = None
        if channel is not None:
            channel.close()

    def begin(self, request: party_pb2.BeginRequest) -> bytes:
        """Return the party's message of an encrypted batch's base oblivious transfers."""
        if self._channel is None:
            self._channel = self._connect()
        return self._call(lambda stub: stub.Begin(request, timeout=BEGIN_S)).points

    def garble(self, call: StepCall) -> None:
        """Send the extension of the transfers, and receive the tables of the party's garbled circuits."""
        self._call(lambda stub: call.exchange(stub.Garble, STEP_S))

    def evaluate(self, call: StepCall) -> None:
        """Send encrypted queries, and receive encrypted masked logits."""
        self._call(lambda stub: call.exchange(stub.Evaluate, STEP_S))

    def compare(self, call: StepCall) -> None:
        """Send the correction, and receive the labels of the party's words; the last call of a batch."""
        self._call(lambda stub: call.exchange(stub.Compare, STEP_S))

    def _call(self, call: Callable[[PartyStub], T]) -> T:
        """Call on the channel that Begin opened; calls end with it and never open another one."""
        channel = self._channel

        def calling() -> T:
            if channel is None or channel is not self._channel:
                raise self._channel_closed()
            return call(PartyStub(channel))

        try:
            return self._retry.call(calling)
        except ValueError as exc:  # gRPC's error for a call on a closed channel
            if channel is self._channel:
                raise
            raise self._channel_closed() from exc

    def _channel_closed(self) -> OstrakaError:
        return OstrakaError(
            ErrorCode.PARTY_UNREACHABLE,
            f"The connection to party {self._site} was closed in the middle of a batch: ask again.",
        )


@dataclass(frozen=True)
class Clusters:
    """Clusters that are the queries: their `count`, and the cluster `of` each record, from 0, int32 (N,)."""

    count: int
    of: NDArray[np.int32] = field(repr=False)

    def arrange(self, order: Sequence[int]) -> "Clusters":
        """Return the same clusters, renumbered by their position in `order`, which contains all of them."""
        places = np.empty(self.count, np.int32)
        places[list(order)] = np.arange(self.count)
        return Clusters(self.count, places[self.of])


VOTE = "/ostraka.v1.Party/Vote"
VOTE_S = 600.0


@dataclass(frozen=True)
class VoteBatch:
    """A batch for parties: each gets its own permissions, all get the features, float32 (rows, columns).

    `width` is the number of ring values per query in a share. If `clusters` are the queries, the features are
    those of their records.
    """

    plan: bytes
    width: int
    grant: SignedEntries
    ticket: SignedEntries
    features: NDArray[np.float32] = field(repr=False)
    clusters: Clusters | None = None

    @property
    def queries(self) -> int:
        """The number of queries."""
        return len(self.features) if self.clusters is None else self.clusters.count

    @cached_property
    def data(self) -> bytes:
        """The features row by row, little-endian; then each record's cluster, if clusters are the queries."""
        features = self.features.astype("<f4", copy=False).tobytes()
        return features if self.clusters is None else features + self.clusters.of.astype("<i4").tobytes()

    @cached_property
    def sha256(self) -> bytes:
        """Digest of the data."""
        return hashlib.sha256(self.data).digest()

    @cached_property
    def chunks(self) -> tuple[bytes, ...]:
        """The messages after the header, serialized once for all parties."""
        return tuple(party_pb2.VoteRequest(chunk=chunk).SerializeToString() for chunk in split(self.data))

    def header(self, site: str, *, whole: bool) -> party_pb2.VoteHeader:
        """Return the header for `site`; unless `whole`, it refers to plan and grant by digest."""
        records, columns = self.features.shape
        header = party_pb2.VoteHeader(
            ticket=self.ticket.of(site),
            rows=self.queries,
            columns=columns,
            sha256=self.sha256,
            members=0 if self.clusters is None else records,
        )
        if whole:
            header.plan = self.plan
            header.grant.CopyFrom(self.grant.of(site))
        else:
            header.grant_sha256 = self.grant.sha256
        return header

    def messages(self, site: str, *, whole: bool) -> Iterator[bytes]:
        """Yield the serialized stream that asks `site` for its vote."""
        yield party_pb2.VoteRequest(header=self.header(site, whole=whole)).SerializeToString()
        yield from self.chunks


class Voter(AsyncPeer):
    """One party that votes.

    Plan and grant are sent once per session, and again if the party no longer has them.
    """

    def __init__(
        self, target: Target, connect: Callable[[], CheckedAsyncChannel], retry: Retry, pool: Executor
    ) -> None:
        super().__init__(target, connect, retry, pool)
        self._knows = b""

    async def vote(self, batch: VoteBatch) -> bytes:
        """Return the seed of this side's share of the party's ballots; it stays in memory.

        Raises OstrakaError with the party's code, `message.invalid` for a reply that does not fit the batch.
        """
        whole = self._knows != batch.grant.sha256
        try:
            seed = await self._vote(batch, whole=whole)
        except OstrakaError as error:
            if whole or error.code is not ErrorCode.GRANT_UNKNOWN:
                raise
            seed = await self._vote(batch, whole=True)
        self._knows = batch.grant.sha256
        return seed

    async def _vote(self, batch: VoteBatch, *, whole: bool) -> bytes:
        site = self._site
        channel = self._open()

        async def ask() -> list[party_pb2.VoteReply]:
            with calling(VOTE) as metadata:
                voting: Any = channel.stream_stream(
                    VOTE, response_deserializer=party_pb2.VoteReply.FromString
                )
                stream = partial(batch.messages, site, whole=whole)
                return await exchange(voting, stream, most=1, timeout=VOTE_S, metadata=metadata)

        replies = await self._call(ask)
        header = replies[0].header if len(replies) == 1 else party_pb2.VoteReplyHeader()
        return require_seed(site, header, batch.queries, batch.width)
