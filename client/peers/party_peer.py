"""An answering party as a querying party calls it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice

import grpc
import numpy as np
from grpc_health.v1 import health_pb2, health_pb2_grpc
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry
from ostraka.client.peers.step_calls import StepCall
from ostraka.client.session.clusters import Clusters
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.chunks import split
from ostraka.common.sharing.expansion import SEED_BYTES
from ostraka.common.signed_lists import SignedEntries
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.protos.ostraka.v1.party_pb2_grpc import PartyStub

PROBE_S = 10.0
"""Deadline of a probe: enough to connect over a far link that loses packets, or among many at once."""
VOTE_S = 600.0
BEGIN_S = 60.0
STEP_S = 600.0
"""Deadline of each step on encrypted queries, in seconds."""


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

    def messages(self, site: str) -> Iterator[party_pb2.VoteRequest]:
        """Yield the stream that asks `site` for its vote."""
        yield party_pb2.VoteRequest(header=self.header(site))
        for chunk in split(self.data):
            yield party_pb2.VoteRequest(chunk=chunk)


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
        if reply.status != health_pb2.HealthCheckResponse.SERVING:
            raise OstrakaError(
                ErrorCode.PARTY_UNREACHABLE, f"Party {self._site} is up but not serving: look at its log."
            )

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

    def _require_seed(self, reply: party_pb2.VoteReplyHeader, rows: int, width: int) -> bytes:
        """Return the seed of a share of ballots (rows, width); raise `message.invalid` for other replies."""
        if (reply.rows, reply.width, len(reply.seed)) != (rows, width, SEED_BYTES):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"Party {self._site} sent no share of this batch: "
                "its votes are left out; use the same version everywhere.",
            )
        return reply.seed


class PartyPeer(PartyChannel):
    """Calls to one party that votes."""

    def vote(self, batch: VoteBatch) -> bytes:
        """Return the seed whose expansion is this side's share of the party's ballots; it stays in memory.

        Raises OstrakaError with the party's code, `message.invalid` for a reply that fits no batch.
        """
        stub = PartyStub(self._open())

        def ask() -> list[party_pb2.VoteReply]:
            replies = stub.Vote(batch.messages(self._site), timeout=VOTE_S)
            first_two = list(islice(replies, 2))
            replies.cancel()
            return first_two

        replies = self._retry.call(ask)
        only = replies[0].header if len(replies) == 1 else party_pb2.VoteReplyHeader()
        return self._require_seed(only, batch.queries, batch.width)

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
