"""An answering party as a querying party calls it."""

from collections.abc import Callable
from typing import TypeVar

import grpc

from ostraka.client.peers.retry import Retry
from ostraka.client.peers.step_calls import StepCall
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.protos.ostraka.v1.party_pb2_grpc import PartyStub

BEGIN_S = 60.0
STEP_S = 600.0
"""Deadline of each step on encrypted queries, in seconds."""

T = TypeVar("T")


class PartyPeer:
    """Calls to one party that votes on encrypted queries; a channel is opened by Begin, and kept."""

    def __init__(self, site: str, connect: Callable[[], grpc.Channel], retry: Retry) -> None:
        """Take how to open a channel to `site`; nothing is opened yet."""
        self._site = site
        self._connect = connect
        self._retry = retry
        self._channel: grpc.Channel | None = None

    def close(self) -> None:
        """Close the channel, which ends calls that are under way; the next Begin opens another."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()

    def begin(self, request: party_pb2.BeginRequest) -> bytes:
        """Return the party's message of the base transfers of an encrypted batch."""
        if self._channel is None:
            self._channel = self._connect()
        return self._call(lambda stub: stub.Begin(request, timeout=BEGIN_S)).points

    def garble(self, call: StepCall) -> None:
        """Send the extension of the transfers, and take the tables of the party's circuits."""
        self._call(lambda stub: call.exchange(stub.Garble, STEP_S))

    def evaluate(self, call: StepCall) -> None:
        """Send encrypted queries, and take encrypted masked logits."""
        self._call(lambda stub: call.exchange(stub.Evaluate, STEP_S))

    def compare(self, call: StepCall) -> None:
        """Send the correction, and take the labels of the party's words; the last call of a batch."""
        self._call(lambda stub: call.exchange(stub.Compare, STEP_S))

    def _call(self, call: Callable[[PartyStub], T]) -> T:
        """Call on the channel that Begin opened; calls end with it and open no other."""
        channel = self._channel

        def calling() -> T:
            if channel is None or channel is not self._channel:
                raise self._closed()
            return call(PartyStub(channel))

        try:
            return self._retry.call(calling)
        except ValueError as exc:  # gRPC's for a call on a channel that was closed
            if channel is self._channel:
                raise
            raise self._closed() from exc

    def _closed(self) -> OstrakaError:
        return OstrakaError(
            ErrorCode.PARTY_UNREACHABLE,
            f"The connection to party {self._site} was closed in the middle of a batch: ask again.",
        )
