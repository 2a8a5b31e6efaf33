"""A party in a training, as the lead party calls it."""

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
from google.protobuf.message import Message
from numpy.typing import NDArray

from ostraka.client.peers.async_peer import AsyncPeer, require_seed
from ostraka.client.training.training_state import AveragedModel
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import invalid_plan
from ostraka.common.plan.limits import MAX_SHARE_BYTES
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.common.rpc.checked import AsyncReplies
from ostraka.common.rpc.metered import calling
from ostraka.common.rpc.received import Allowance
from ostraka.common.rpc.steps import join, split
from ostraka.common.rpc.streaming import submit
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, training_pb2

JOIN, TRAIN, FINISH = (f"/ostraka.v1.Training/{name}" for name in ("Join", "Train", "Finish"))
NUMBER_BYTES = 4
MAX_PARAMETERS = MAX_SHARE_BYTES // 8
"""Maximum number of a model's parameters: an update's share has 8 bytes for each, because plans of trainings
have 64-bit rings."""
JOIN_S = 60.0
"""Deadline of `Join`, in seconds: the party builds its model and sends it, without training."""
ROUND_S = 3600.0
"""Deadline of a party's round, in seconds: its teachers make all their local steps."""

M = TypeVar("M", bound=Message)


@dataclass(frozen=True)
class JoinedParty:
    """What a party is about to train, and its untrained parameters, float32 (d,)."""

    model: str
    task_digest: bytes
    untrained: NDArray[np.float32] = field(repr=False)


@dataclass(frozen=True)
class Work:
    """The parties' input for a round, or for the end: each gets its own permissions, all the same average.

    Attributes:
        plan: as it was granted.
        grant: the guardian's permission for the session.
        average: the start of local steps.
        ticket: the guardian's permission for the round; None for the end.
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
        """The messages after the header, serialized once for all parties."""
        return tuple(training_pb2.TrainRequest(chunk=chunk).SerializeToString() for chunk in split(self.data))

    def messages(self, site: str, counted: int | None) -> Iterator[bytes]:
        """Yield the serialized stream to `site`; `counted` is the batch of its last update that was
        counted."""
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
    """One party in a training."""

    async def join(self, kind: str, check: Callable[[training_pb2.JoinHeader], None]) -> JoinedParty:
        """Return what the party is about to train by mechanism `kind`.

        If `check` raises an error for the header, the call ends before any parameters are received. The
        party's header contains their number; `plan.invalid` if it is larger than any plan allows.
        """
        request = training_pb2.JoinRequest(kind=kind).SerializeToString()

        async def ask() -> tuple[training_pb2.JoinHeader, list[common_pb2.Chunk]]:
            with calling(JOIN) as metadata:
                joining = self._open().unary_stream(
                    JOIN, response_deserializer=training_pb2.JoinReply.FromString
                )
                replies = joining(request, timeout=JOIN_S, metadata=metadata)
                try:
                    return await _read_parameters(replies, check)
                finally:
                    replies.cancel()

        header, chunks = await self._call(ask, late=False)
        expected = header.parameters * NUMBER_BYTES
        data = join((chunk.data for chunk in chunks), expected=expected, sha256=header.sha256)
        untrained = np.frombuffer(data, "<f4").astype(np.float32)
        if not np.isfinite(untrained).all():
            raise OstrakaError(
                ErrorCode.DATA_NAN, f"Party {self._site} begins with parameters that are not numbers."
            )
        return JoinedParty(header.model, header.task_digest, untrained)

    async def train(self, work: Work, counted: int | None) -> bytes:
        """Return the seed of this side's share of the party's update; it stays in memory."""
        reply = await self._send(TRAIN, work, counted, party_pb2.VoteReplyHeader)
        return require_seed(self._site, reply, 1, len(work.average.theta))

    async def finish(self, work: Work, counted: int | None) -> None:
        """Let the party finish, and return when it has stored its teachers."""
        await self._send(FINISH, work, counted, training_pb2.FinishReply)

    async def _send(self, method: str, work: Work, counted: int | None, reply: type[M]) -> M:
        async def ask() -> M:
            with calling(method) as metadata:
                working = self._open().stream_stream(method, response_deserializer=reply.FromString)
                stream = partial(work.messages, self._site, counted)
                answered: M = await submit(working, stream, timeout=ROUND_S, metadata=metadata)
                return answered

        return await self._call(ask, late=False)


async def _read_parameters(
    replies: AsyncReplies, check: Callable[[training_pb2.JoinHeader], None]
) -> tuple[training_pb2.JoinHeader, list[common_pb2.Chunk]]:
    """Read the header of a reply to Join, and at most the number of parameters that it announces."""
    header = training_pb2.JoinHeader()
    chunks = []
    allowed = Allowance(0)
    async for reply in replies:
        if header.parameters:
            allowed.take(len(reply.chunk.data))
            chunks.append(reply.chunk)
            continue
        header = reply.header
        if not 0 < header.parameters <= MAX_PARAMETERS:
            raise invalid_plan(
                f"it trains a model of {header.parameters} parameters, and plans take {MAX_PARAMETERS};"
                " choose a smaller --model"
            )
        check(header)
        allowed = Allowance(header.parameters * NUMBER_BYTES)
    return header, chunks
