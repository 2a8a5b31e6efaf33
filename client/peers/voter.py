"""An answering party that votes on queries in the clear, as a querying party asks it without a thread."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import grpc
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray

from ostraka.client.peers.party_peer import PROBE_S, require_seed, require_serving
from ostraka.client.peers.retry import Retry
from ostraka.client.session.clusters import Clusters
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import call_error, split
from ostraka.common.rpc.traced import calling
from ostraka.common.rpc.watcher import Target
from ostraka.common.signed_lists import SignedEntries
from ostraka.protos.ostraka.v1 import party_pb2

VOTE = "/ostraka.v1.Party/Vote"
VOTE_S = 600.0

T = TypeVar("T")


@dataclass(frozen=True)
class VoteBatch:
    """A batch as parties are sent it: each its own permissions, all the features, float32 (rows, columns).

    `width` is the ring values that a share has for each query. Where `clusters` are the queries, the features
    are those of their records.
    """

    plan: bytes
    width: int
    grant: SignedEntries
    ticket: SignedEntries
    features: NDArray[np.float32] = field(repr=False)
    clusters: Clusters | None = None

    @property
    def queries(self) -> int:
        """How many queries it has."""
        return len(self.features) if self.clusters is None else self.clusters.count

    @cached_property
    def data(self) -> bytes:
        """The features row by row, little endian, then the cluster of each where clusters are the queries."""
        features = self.features.astype("<f4", copy=False).tobytes()
        return features if self.clusters is None else features + self.clusters.of.astype("<i4").tobytes()

    @cached_property
    def sha256(self) -> bytes:
        """Digest of the data."""
        return hashlib.sha256(self.data).digest()

    @cached_property
    def chunks(self) -> tuple[bytes, ...]:
        """What follows the header, serialized once for all parties."""
        return tuple(party_pb2.VoteRequest(chunk=chunk).SerializeToString() for chunk in split(self.data))

    def header(self, site: str) -> party_pb2.VoteHeader:
        """Return what precedes the features for `site`."""
        records, columns = self.features.shape
        return party_pb2.VoteHeader(
            plan=self.plan,
            grant=self.grant.of(site),
            ticket=self.ticket.of(site),
            rows=self.queries,
            columns=columns,
            sha256=self.sha256,
            members=0 if self.clusters is None else records,
        )

    def messages(self, site: str) -> Iterator[bytes]:
        """Yield the serialized stream that asks `site` for its vote."""
        yield party_pb2.VoteRequest(header=self.header(site)).SerializeToString()
        yield from self.chunks


class Voter:
    """One party; its channel is kept until it is probed again, so that no old failure lingers.

    Its coroutines are run by `run_async`.
    """

    def __init__(
        self, target: Target, connect: Callable[[], grpc.aio.Channel], retry: Retry, pool: Executor
    ) -> None:
        """Take whom `connect` opens a channel to; `pool` looks into failed connections."""
        self._target = target
        self._connect = connect
        self._retry = retry
        self._pool = pool
        self._channel: grpc.aio.Channel | None = None

    async def probe(self) -> None:
        """Raise OstrakaError unless the party serves: `party.unreachable`, `server.*` or `identity.*`.

        A connection that breaks off is tried again, one that stays silent is not.
        """
        await self.close()
        health: Any = health_pb2_grpc.HealthStub(self._open())  # type: ignore[arg-type, unused-ignore]
        request = health_pb2.HealthCheckRequest()
        reply = await self._told(lambda: health.Check(request, timeout=PROBE_S), late=False)
        require_serving(self._target.expected.site, reply)

    async def vote(self, batch: VoteBatch) -> bytes:
        """Return the seed whose expansion is this side's share of the party's ballots; it stays in memory.

        Raises OstrakaError with the party's code, `message.invalid` for a reply that fits no batch.
        """
        site, channel = self._target.expected.site, self._open()

        async def ask() -> list[party_pb2.VoteReply | None]:
            """Return the replies, None for what is no such message."""
            with calling(VOTE) as metadata:
                voting: Any = channel.stream_stream(
                    VOTE, response_deserializer=party_pb2.VoteReply.FromString
                )
                call = voting(batch.messages(site), timeout=VOTE_S, metadata=metadata)
                replies = []
                async for reply in call:
                    replies.append(reply)
                    if len(replies) > 1:
                        call.cancel()
                        break
                return replies

        replies = await self._told(ask)
        only = replies[0] if len(replies) == 1 else None
        header = party_pb2.VoteReplyHeader() if only is None else only.header
        return require_seed(site, header, batch.queries, batch.width)

    async def close(self) -> None:
        """Close the channel, which ends calls that are under way."""
        if self._channel is not None:
            channel, self._channel = self._channel, None
            await channel.close()

    def _open(self) -> grpc.aio.Channel:
        if self._channel is None:
            self._channel = self._connect()
        return self._channel

    async def _told(self, call: Callable[[], Awaitable[T]], *, late: bool = True) -> T:
        """Return a call's result; raise OstrakaError with the code that the party or the connection gave."""
        try:
            return await self._retry.call_async(call, late=late)
        except grpc.RpcError as exc:
            loop = asyncio.get_running_loop()
            raise await loop.run_in_executor(self._pool, call_error, exc, self._target) from exc
        except (asyncio.CancelledError, grpc.aio.UsageError) as exc:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            site = self._target.expected.site
            raise OstrakaError(
                ErrorCode.PARTY_UNREACHABLE,
                f"The connection to party {site} was closed while it was asked: ask again.",
            ) from exc
