"""A party that takes part in a training, as the lead party calls it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.party_peer import PartyChannel, require_seed
from ostraka.common.averaging import AveragedModel
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.chunks import join, split
from ostraka.common.signed_lists import SignedEntries
from ostraka.protos.ostraka.v1 import party_pb2, training_pb2
from ostraka.protos.ostraka.v1.training_pb2_grpc import TrainingStub

NUMBER_BYTES = 4
JOIN_S = 60.0
ROUND_S = 3600.0
"""Deadline of a party's round, in seconds: its teachers take all their local steps in it."""


@dataclass(frozen=True)
class JoinedParty:
    """What a party is about to train, and its untrained parameters, float32 (d,)."""

    model: str
    task_digest: bytes
    untrained: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True)
class Work:
    """What parties are sent for a round, or for the end: each its own permissions, all the average.

    Attributes:
        plan: as it was granted.
        grant: the guardian's yes to the session.
        average: what local steps start from.
        ticket: its yes to the round; none for the end.
    """

    plan: bytes
    grant: SignedEntries
    average: AveragedModel
    ticket: SignedEntries | None = None

    @cached_property
    def data(self) -> bytes:
        """Parameters and control variate, little-endian float32."""
        return np.concatenate([self.average.theta, self.average.c]).astype("<f4").tobytes()

    @cached_property
    def sha256(self) -> bytes:
        """Digest of the data."""
        return hashlib.sha256(self.data).digest()

    def messages(self, site: str, counted: int | None) -> Iterator[training_pb2.TrainRequest]:
        """Yield the stream to `site`, whose last update that counted was of batch `counted`."""
        header = training_pb2.TrainHeader(
            plan=self.plan,
            grant=self.grant.of(site),
            ticket=None if self.ticket is None else self.ticket.of(site),
            round=self.average.number,
            counted=counted,
            sha256=self.sha256,
        )
        yield training_pb2.TrainRequest(header=header)
        yield from (training_pb2.TrainRequest(chunk=chunk) for chunk in split(self.data))


class TrainingPeer(PartyChannel):
    """Calls to one party whose teachers learn."""

    def join(self, kind: str) -> JoinedParty:
        """Return what the party is about to train by mechanism `kind`."""
        stub = TrainingStub(self._open())
        request = training_pb2.JoinRequest(kind=kind)
        first, *rest = self._retry.call(lambda: list(stub.Join(request, timeout=JOIN_S)))
        size = first.header.parameters * NUMBER_BYTES
        data = join((part.chunk for part in rest), expected=size, sha256=first.header.sha256)
        untrained = np.frombuffer(data, "<f4").astype(np.float32)
        if not np.isfinite(untrained).all():
            raise OstrakaError(
                ErrorCode.DATA_NAN, f"Party {self._site} begins with parameters that are no numbers."
            )
        return JoinedParty(first.header.model, first.header.task_digest, untrained)

    def train(self, work: Work, counted: int | None) -> bytes:
        """Return the seed that expands to this side's share of the party's update; it stays in memory."""
        stub = TrainingStub(self._open())
        reply: party_pb2.VoteReplyHeader = self._retry.call(
            lambda: stub.Train(work.messages(self._site, counted), timeout=ROUND_S)
        )
        return require_seed(self._site, reply, 1, len(work.average.theta))

    def finish(self, work: Work, counted: int | None) -> None:
        """Ask the party to finish, and return when it has stored its teachers."""
        stub = TrainingStub(self._open())
        self._retry.call(lambda: stub.Finish(work.messages(self._site, counted), timeout=ROUND_S))
