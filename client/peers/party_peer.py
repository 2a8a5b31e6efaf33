"""An answering party as a querying party calls it."""

from collections.abc import Callable

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from ostraka.client.peers.retry import Retry
from ostraka.client.peers.step_calls import StepCall
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.expansion import SEED_BYTES
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.protos.ostraka.v1.party_pb2_grpc import PartyStub

PROBE_S = 10.0
"""Deadline of a probe: enough to connect over a far link that loses packets, or among many at once."""
BEGIN_S = 60.0
STEP_S = 600.0
"""Deadline of each step on encrypted queries, in seconds."""


class PartyChannel:
    """One party; a new channel is opened at every probe, so that no old failure lingers."""

    def __init__(self, site: str, connect: Callable[[], grpc.Channel], retry: Retry) -> None:
        """Take how to open a channel to `site`; nothing is opened yet."""
        self._site = site
        self._connect = connect
        self._retry = retry
        self._channel: grpc.Channel | None = None

    def probe(self) -> None:
        """Raise OstrakaError unless the party serves: `party.unreachable`, `server.*` or `identity.*`.

        A connection that breaks off is tried again, one that stays silent is not.
        """
        self.close()
        self._channel = self._connect()
        health = health_pb2_grpc.HealthStub(self._channel)
        request = health_pb2.HealthCheckRequest()
        reply = self._retry.call(
            lambda: health.Check(request, timeout=PROBE_S),  # type: ignore[attr-defined, unused-ignore]
            late=False,
        )
        require_serving(self._site, reply)

    def close(self) -> None:
        """Close the channel, which ends calls that are under way."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _open(self) -> grpc.Channel:
        """Return the channel of the last probe; a new one where there was none."""
        if self._channel is None:
            self._channel = self._connect()
        return self._channel


class PartyPeer(PartyChannel):
    """Calls to one party that votes on encrypted queries."""

    def begin(self, request: party_pb2.BeginRequest) -> bytes:
        """Return the party's message of the base transfers of an encrypted batch."""
        stub = PartyStub(self._open())
        return self._retry.call(lambda: stub.Begin(request, timeout=BEGIN_S)).points

    def garble(self, call: StepCall) -> None:
        """Send the extension of the transfers, and take the tables of the party's circuits."""
        stub = self._open_stub()
        self._retry.call(lambda: call.exchange(stub.Garble, STEP_S))

    def evaluate(self, call: StepCall) -> None:
        """Send encrypted queries, and take encrypted masked logits."""
        stub = self._open_stub()
        self._retry.call(lambda: call.exchange(stub.Evaluate, STEP_S))

    def compare(self, call: StepCall) -> None:
        """Send the correction, and take the labels of the party's words; the last call of a batch."""
        stub = self._open_stub()
        self._retry.call(lambda: call.exchange(stub.Compare, STEP_S))

    def _open_stub(self) -> PartyStub:
        """For steps of a batch under way: they end with the channel and open no other."""
        channel = self._channel
        if channel is None:
            raise OstrakaError(
                ErrorCode.PARTY_UNREACHABLE,
                f"The connection to party {self._site} was closed in the middle of a batch: ask again.",
            )
        return PartyStub(channel)


def require_serving(site: str, reply: health_pb2.HealthCheckResponse | None) -> None:
    """Raise `party.unreachable` for a party that does not serve, as it says itself, or that says nothing."""
    if reply is None or reply.status != health_pb2.HealthCheckResponse.SERVING:
        raise OstrakaError(
            ErrorCode.PARTY_UNREACHABLE, f"Party {site} is up but not serving: look at its log."
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
