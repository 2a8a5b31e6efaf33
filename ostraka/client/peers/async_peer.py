"""An answering party on a channel with asynchronous calls, which need no threads."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from typing import Any, TypeVar

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.client.peers.retry import Retry
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import call_error
from ostraka.common.rpc.checked import CheckedAsyncChannel
from ostraka.common.rpc.watcher import Target
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.protos.ostraka.v1 import party_pb2

PROBE_S = 10.0
"""Deadline of a probe in seconds: enough to connect over a slow, lossy link, or among many at once."""

T = TypeVar("T")


class AsyncPeer:
    """One party; its channel is replaced at every probe, so old failures do not persist.

    Its coroutines are run by `run_async`.
    """

    def __init__(
        self, target: Target, connect: Callable[[], CheckedAsyncChannel], retry: Retry, pool: Executor
    ) -> None:
        """Take the party and how to connect; `pool` examines failed connections."""
        self._target = target
        self._connect = connect
        self._retry = retry
        self._pool = pool
        self._channel: CheckedAsyncChannel | None = None

    @property
    def _site(self) -> str:
        return self._target.expected.site

    async def probe(self) -> None:
        """Raise OstrakaError unless the party serves: `party.unreachable`, `server.*` or `identity.*`.

        A connection that breaks off is tried again, one that times out is not.
        """
        await self.close()
        health: Any = health_pb2_grpc.HealthStub(self._open())  # type: ignore[arg-type, unused-ignore]
        request = health_pb2.HealthCheckRequest()
        reply = await self._call(lambda: health.Check(request, timeout=PROBE_S), late=False)
        require_serving(self._site, reply)

    async def close(self) -> None:
        """Close the channel, which ends calls in progress."""
        if self._channel is not None:
            channel = self._channel
            self._channel = None
            await channel.close()

    def _open(self) -> CheckedAsyncChannel:
        if self._channel is None:
            self._channel = self._connect()
        return self._channel

    async def _call(self, call: Callable[[], Awaitable[T]], *, late: bool = True) -> T:
        """Return a call's result; raise OstrakaError with the code of the party or the connection."""
        try:
            return await self._retry.call_async(call, late=late)
        except grpc.RpcError as exc:
            loop = asyncio.get_running_loop()
            raise await loop.run_in_executor(self._pool, call_error, exc, self._target) from exc
        except (asyncio.CancelledError, grpc.aio.UsageError) as exc:
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            raise OstrakaError(
                ErrorCode.PARTY_UNREACHABLE,
                f"The connection to party {self._site} was closed during a call: ask again.",
            ) from exc


def require_serving(site: str, reply: health_pb2.HealthCheckResponse) -> None:
    """Raise `party.unreachable` for a party that reports that it does not serve."""
    if reply.status != health_pb2.HealthCheckResponse.SERVING:
        raise OstrakaError(
            ErrorCode.PARTY_UNREACHABLE, f"Party {site} runs but does not serve: read its log."
        )


def require_seed(site: str, reply: party_pb2.VoteReplyHeader, rows: int, width: int) -> bytes:
    """Return the seed of a share of ballots (rows, width); raise `message.invalid` for other replies."""
    if (reply.rows, reply.width, len(reply.seed)) != (rows, width, SEED_BYTES):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Party {site} sent no share of this batch: "
            "its votes are left out; use the same version everywhere.",
        )
    return reply.seed
