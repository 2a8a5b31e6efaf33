"""Calls of a querying or leading party to the guardian. Every call may be repeated at no cost."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import grpc
import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.retry import Retry, StepCall
from ostraka.client.peers.verification import Verification
from ostraka.common.rpc.received import limit_replies
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.shares import ShareSender, stream_share
from ostraka.common.rpc.steps import CHUNK_BYTES, StepId, request_messages
from ostraka.common.sharing.shares import RowSums
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import GuardianStub

CALL_S = 60.0
RELEASE_S = 600.0
"""Deadline of a release, in seconds; the guardian draws exact noise for the whole batch."""
TALLY_S = 600.0
"""Deadline of each streamed step of a blind tally, in seconds."""
MIN_WAIT_MS = 10
"""Minimum wait between two polls for a frozen set, whatever the guardian asks for: it cannot make a querying
party call without pauses."""
MAX_WAIT_MS = 60_000
"""Maximum wait: a guardian with a wrong estimate delays a batch by at most this much."""
ANSWER_BYTES = 32
"""Bytes of an answer besides its labels: two one-byte fields, a class, and all field tags."""
STEP_BYTES = 8
"""Bytes of a number in an update, int64."""
UPDATE_PART_BYTES = 16
"""Bytes of a part of an update besides its numbers."""

T = TypeVar("T")


@dataclass(frozen=True)
class Sum:
    """The request for the release of a batch.

    Attributes:
        total: this side's shares summed over the frozen set, ring bytes (rows x width).
        scores: the student's, in units of 2^-16, uint32 (rows, classes); None unless Interactive.
    """

    total: bytes = field(repr=False)
    rows: int
    width: int
    scores: NDArray[np.uint32] | None = field(default=None, repr=False)

    @property
    def data(self) -> bytes:
        """The sum, then the scores, as in the chunks and the digest."""
        return self.total + (b"" if self.scores is None else self.scores.astype("<u4", copy=False).tobytes())

    @property
    def score_width(self) -> int:
        """Number of scores per row."""
        return 0 if self.scores is None else int(self.scores.shape[1])


class GuardianPeer:
    """Calls to the replica that has the session; each raises OstrakaError with the guardian's code."""

    def __init__(self, replicas: Replicas, retry: Retry) -> None:
        """Take the guardian's replicas; the caller closes them."""
        self._replicas = replicas
        self._retry = retry
        self._sender = ShareSender()

    def plan(self, plan: bytes) -> guardian_pb2.PlanReply:
        """Return what a serialized plan would cost; nothing is opened."""
        request = guardian_pb2.PlanRequest(plan=plan)
        return self._call(lambda stub: stub.Plan(request, timeout=CALL_S))

    def open_session(self, plan: bytes) -> guardian_pb2.OpenSessionReply:
        """Return the signed grant for a serialized plan, and the terms of the budgets that pay for it."""
        request = guardian_pb2.OpenSessionRequest(plan=plan)
        return self._call(lambda stub: stub.OpenSession(request, timeout=CALL_S))

    def open_batch(
        self, session_id: str, batch_id: int, size: int, unavailable: Sequence[str]
    ) -> common_pb2.SignedList:
        """Return the signed ticket of a batch, without the unavailable parties."""
        request = guardian_pb2.OpenBatchRequest(
            session_id=session_id, batch_id=batch_id, size=size, unavailable=unavailable
        )
        return self._call(lambda stub: stub.OpenBatch(request, timeout=CALL_S), session_id).ticket

    def verify_ballots(self, verification: Verification) -> frozenset[str]:
        """Send this side's part of the parties' proofs, and return whose ballots are refused."""
        whole = verification.message()

        def verify(channel: grpc.Channel) -> guardian_pb2.VerifyBallotsReply:
            stub = GuardianStub(channel)
            return self._sender.send(
                channel,
                whole.ByteSize(),
                whole=lambda: stub.VerifyBallotsWhole(whole, timeout=CALL_S),
                stream=lambda: stub.VerifyBallots(verification.messages(), timeout=CALL_S),
            )

        return frozenset(self._call_on(verify, verification.session_id).refused)

    def prepare(
        self, session_id: str, batch_id: int, parties: Sequence[str], row_sums: RowSums | None = None
    ) -> tuple[tuple[str, ...], frozenset[str]]:
        """Wait for the frozen set of parties as the guardian says; return it and the refused parties."""
        request = guardian_pb2.PrepareRequest(session_id=session_id, batch_id=batch_id, parties=parties)
        if row_sums is not None:
            request.row_sum_key = row_sums.key
            request.row_sums.extend(row_sums.digests[site] for site in parties)
        while True:
            reply = self._call(lambda stub: stub.Prepare(request, timeout=CALL_S), session_id)
            if reply.frozen:
                return tuple(reply.frozen), frozenset(reply.refused)
            self._retry.sleep(min(max(reply.retry_after_ms, MIN_WAIT_MS), MAX_WAIT_MS) / 1000)

    def release(self, session_id: str, batch_id: int, total: Sum) -> list[guardian_pb2.Answer]:
        """Return the answers of a batch for the sum over its frozen set."""
        most = total.rows * (ANSWER_BYTES + 2 * total.width)
        replies = self._release(session_id, batch_id, total, most)
        return [answer for reply in replies for answer in reply.answers]

    def release_update(self, session_id: str, batch_id: int, total: Sum) -> bytes:
        """Return the release of a training round for the sum over its frozen set: steps, int64."""
        most = _update_bytes(total.width)
        return b"".join(reply.update.data for reply in self._release(session_id, batch_id, total, most))

    def released_update(self, session_id: str, batch_id: int, parameters: int) -> bytes:
        """Return the release of a round of a model with `parameters` parameters, after `settle` confirmed
        it."""
        request = guardian_pb2.SettleBatchRequest(session_id=session_id, batch_id=batch_id)

        def update(stub: GuardianStub) -> bytes:
            chunks = limit_replies(stub.ReleasedUpdate(request, timeout=RELEASE_S), _update_bytes(parameters))
            return b"".join(chunk.data for chunk in chunks)

        return self._call(update, session_id)

    def _release(
        self, session_id: str, batch_id: int, total: Sum, most: int
    ) -> list[guardian_pb2.ReleaseReply]:
        """Return the replies to a release, of at most `most` bytes."""
        data = total.data
        header = guardian_pb2.ReleaseHeader(
            session_id=session_id,
            batch_id=batch_id,
            rows=total.rows,
            width=total.width,
            sha256=hashlib.sha256(data).digest(),
            score_width=total.score_width,
        )

        def whole(stub: GuardianStub) -> list[guardian_pb2.ReleaseReply]:
            request = guardian_pb2.ReleaseWholeRequest(header=header, data=data)
            return list(limit_replies(stub.ReleaseWhole(request, timeout=RELEASE_S), most))

        def stream(stub: GuardianStub) -> list[guardian_pb2.ReleaseReply]:
            requests = stream_share(guardian_pb2.ReleaseRequest, header, data)
            return list(limit_replies(stub.Release(requests, timeout=RELEASE_S), most))

        def release(channel: grpc.Channel) -> list[guardian_pb2.ReleaseReply]:
            stub = GuardianStub(channel)
            return self._sender.send(
                channel, len(data), whole=lambda: whole(stub), stream=lambda: stream(stub)
            )

        return self._call_on(release, session_id)

    def begin_tally(self, request: guardian_pb2.BeginTallyRequest) -> bytes:
        """Return the guardian's message of a stage's base oblivious transfers."""
        reply = self._call(lambda stub: stub.BeginTally(request, timeout=TALLY_S), request.session_id)
        return reply.points

    def garble_tally(self, call: StepCall) -> None:
        """Send the extension of the transfers, and receive the garbled tables of a stage; this charges it."""
        self._call(lambda stub: call.exchange(stub.GarbleTally, TALLY_S), call.step.session_id)

    def compare_tally(self, call: StepCall) -> None:
        """Send the correction, and receive the labels of the guardian's words."""
        self._call(lambda stub: call.exchange(stub.CompareTally, TALLY_S), call.step.session_id)

    def open_check(self, step: StepId, returned: bytes) -> bytes:
        """Send the output labels of the check's circuits; return which checks passed, one bit each."""
        reply = self._call(
            lambda stub: stub.OpenCheck(request_messages(step, returned), timeout=TALLY_S), step.session_id
        )
        return reply.passed

    def settle(self, session_id: str, batch_id: int) -> list[guardian_pb2.Answer] | None:
        """Return the stored answers of a batch, or None if it was not released; then it never will be.

        Every failed batch is settled, so this call waits longer, for a guardian that crashed or for the one
        that takes over its session.
        """
        request = guardian_pb2.SettleBatchRequest(session_id=session_id, batch_id=batch_id)
        reply = self._call(
            lambda stub: stub.SettleBatch(request, timeout=CALL_S), session_id, self._retry.patient
        )
        return list(reply.answers) if reply.released else None

    def close_session(self, session_id: str) -> None:
        """Close the session."""
        request = guardian_pb2.CloseSessionRequest(session_id=session_id)
        self._call(lambda stub: stub.CloseSession(request, timeout=CALL_S), session_id)

    def _call(self, call: Callable[[GuardianStub], T], session_id: str = "", retry: Retry | None = None) -> T:
        return self._call_on(lambda channel: call(GuardianStub(channel)), session_id, retry)

    def _call_on(self, call: Callable[[grpc.Channel], T], session_id: str, retry: Retry | None = None) -> T:
        return (retry or self._retry).call(lambda: self._replicas.call(call, session_id))


def _update_bytes(parameters: int) -> int:
    """Return the maximum size in bytes of a released update in its parts."""
    numbers = parameters * STEP_BYTES
    return numbers + UPDATE_PART_BYTES * (numbers // CHUNK_BYTES + 1)
