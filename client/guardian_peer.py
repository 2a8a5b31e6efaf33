"""The privacy guardian as a querying party calls it. Every call may be repeated at no cost."""

import hashlib
from collections.abc import Iterator, Sequence

import grpc

from client.retry import Retry
from common.rpc.chunks import split
from protos.ostraka.v1 import common_pb2, guardian_pb2
from protos.ostraka.v1.guardian_pb2_grpc import GuardianStub

CALL_S = 60.0
RELEASE_S = 600.0
"""Deadline of a release, in seconds; the guardian draws exact noise for the whole batch."""
LEAST_WAIT_MS = 10


class GuardianPeer:
    """Calls of one session over one channel; each raises OstrakaError with the guardian's code."""

    def __init__(self, channel: grpc.Channel, retry: Retry) -> None:
        """Take an open channel, which the caller closes."""
        self._stub = GuardianStub(channel)
        self._retry = retry

    def open_session(self, plan: bytes) -> common_pb2.Signed:
        """The signed grant for a serialized plan."""
        request = guardian_pb2.OpenSessionRequest(plan=plan)
        return self._retry.call(lambda: self._stub.OpenSession(request, timeout=CALL_S)).grant

    def open_batch(
        self, session_id: str, batch_id: int, size: int, unavailable: Sequence[str]
    ) -> common_pb2.Signed:
        """The signed ticket of a batch, without the parties that cannot be reached."""
        request = guardian_pb2.OpenBatchRequest(
            session_id=session_id, batch_id=batch_id, size=size, unavailable=unavailable
        )
        return self._retry.call(lambda: self._stub.OpenBatch(request, timeout=CALL_S)).ticket

    def prepare(self, session_id: str, batch_id: int, parties: Sequence[str]) -> tuple[str, ...]:
        """The frozen party set, waited for as long as the guardian says."""
        request = guardian_pb2.PrepareRequest(session_id=session_id, batch_id=batch_id, parties=parties)
        while True:
            reply = self._retry.call(lambda: self._stub.Prepare(request, timeout=CALL_S))
            if reply.frozen:
                return tuple(reply.frozen)
            self._retry.sleep(max(reply.retry_after_ms, LEAST_WAIT_MS) / 1000)

    def release(
        self, session_id: str, batch_id: int, total: bytes, rows: int, width: int
    ) -> list[guardian_pb2.Answer]:
        """The answers to a batch for the one sum (rows x width ring elements) over its frozen set."""
        header = guardian_pb2.ReleaseHeader(
            session_id=session_id,
            batch_id=batch_id,
            rows=rows,
            width=width,
            sha256=hashlib.sha256(total).digest(),
        )

        def requests() -> Iterator[guardian_pb2.ReleaseRequest]:
            yield guardian_pb2.ReleaseRequest(header=header)
            for chunk in split(total):
                yield guardian_pb2.ReleaseRequest(chunk=chunk)

        def answers() -> list[guardian_pb2.Answer]:
            replies = self._stub.Release(requests(), timeout=RELEASE_S)
            return [answer for reply in replies for answer in reply.answers]

        return self._retry.call(answers)

    def settle(self, session_id: str, batch_id: int) -> list[guardian_pb2.Answer] | None:
        """The stored answers of a batch, or None if it was not released; then it never will be."""
        request = guardian_pb2.SettleBatchRequest(session_id=session_id, batch_id=batch_id)
        reply = self._retry.call(lambda: self._stub.SettleBatch(request, timeout=CALL_S))
        return list(reply.answers) if reply.released else None

    def close_session(self, session_id: str) -> None:
        """End the session."""
        request = guardian_pb2.CloseSessionRequest(session_id=session_id)
        self._retry.call(lambda: self._stub.CloseSession(request, timeout=CALL_S))
