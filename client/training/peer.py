"""A party that takes part in a training, as the lead party calls it."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from ostraka.client.peers.async_peer import AsyncPeer, require_seed
from ostraka.common.averaging import AveragedModel
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.chunks import join, split
from ostraka.common.rpc.traced import calling
from ostraka.common.signed_lists import SignedEntries
from ostraka.protos.ostraka.v1 import party_pb2, training_pb2

JOIN, TRAIN, FINISH = (f"/ostraka.v1.Training/{name}" for name in ("Join", "Train", "Finish"))
NUMBER_BYTES = 4
JOIN_S = 60.0
ROUND_S = 3600.0
"""Deadline of a party's round, in seconds: its teachers take all their local steps in it."""

M = TypeVar("M", bound=Message)


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

    @cached_property
    def chunks(self) -> tuple[bytes, ...]:
        """What follows the header, serialized once for all parties."""
        return tuple(training_pb2.TrainRequest(chunk=chunk).SerializeToString() for chunk in split(self.data))

    def messages(self, site: str, counted: int | None) -> Iterator[bytes]:
        """Yield the serialized stream to `site`, whose last update that counted was of batch `counted`."""
        header = training_pb2.TrainHeader(
            plan=self.plan,
            grant=self.grant.of(site),
            ticket=None if self.ticket is None else self.ticket.of(site),
            round=self.average.number,
            counted=counted,
            sha256=self.sha256,
        )
        yield training_pb2.TrainRequest(header=header).SerializeToString()
        yield from self.chunks


class TrainingPeer(AsyncPeer):
    """One party whose teachers learn."""

    async def join(self, kind: str) -> JoinedParty:
        """Return what the party is about to train by mechanism `kind`."""
        request = training_pb2.JoinRequest(kind=kind).SerializeToString()

        async def ask() -> list[training_pb2.JoinReply | None]:
            """Return the replies, None for what is no such message."""
            with calling(JOIN) as metadata:
                joining: Any = self._open().unary_stream(
                    JOIN, response_deserializer=training_pb2.JoinReply.FromString
                )
                return [reply async for reply in joining(request, timeout=JOIN_S, metadata=metadata)]

        replies = [self._read(reply) for reply in await self._told(ask)]
        header = replies[0].header if replies else training_pb2.JoinHeader()
        size = header.parameters * NUMBER_BYTES
        data = join((part.chunk for part in replies[1:]), expected=size, sha256=header.sha256)
        untrained = np.frombuffer(data, "<f4").astype(np.float32)
        if not np.isfinite(untrained).all():
            raise OstrakaError(
                ErrorCode.DATA_NAN, f"Party {self._site} begins with parameters that are no numbers."
            )
        return JoinedParty(header.model, header.task_digest, untrained)

    async def train(self, work: Work, counted: int | None) -> bytes:
        """Return the seed that expands to this side's share of the party's update; it stays in memory."""
        reply = await self._sent(TRAIN, work, counted, party_pb2.VoteReplyHeader)
        return require_seed(self._site, reply, 1, len(work.average.theta))

    async def finish(self, work: Work, counted: int | None) -> None:
        """Ask the party to finish, and return when it has stored its teachers."""
        await self._sent(FINISH, work, counted, training_pb2.FinishReply)

    async def _sent(self, method: str, work: Work, counted: int | None, reply: type[M]) -> M:
        async def ask() -> M | None:
            """Return the reply, None for what is no such message."""
            with calling(method) as metadata:
                sending: Any = self._open().stream_unary(method, response_deserializer=reply.FromString)
                messages = work.messages(self._site, counted)
                answered: M | None = await sending(messages, timeout=ROUND_S, metadata=metadata)
                return answered

        return self._read(await self._told(ask))

    def _read(self, reply: M | None) -> M:
        if reply is None:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"Party {self._site} sent what is no reply: use the same version everywhere.",
            )
        return reply
