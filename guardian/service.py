"""The guardian's gRPC service: validates each message, then calls the coordinator."""

from collections.abc import Iterator, Mapping

import grpc
import numpy as np
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError
from common.identity import Role
from common.mechanism import Interactive
from common.rpc import peer_identity
from common.rpc.chunks import join
from common.sharing.fixed_point import FRACTION_BITS
from common.sharing.ring import Ring
from guardian.ledger import Ledger
from guardian.registration import Registrar
from guardian.sessions import Coordinator
from guardian.sessions.batch import Share
from protos.ostraka.v1 import common_pb2, guardian_pb2, guardian_pb2_grpc

ANSWERS_PER_MESSAGE = 100_000
SCORE_BYTES = 4
_SERVICE = "/ostraka.v1.Guardian/"
_PARTY = frozenset({Role.PARTY})
_QUERY = frozenset({Role.QUERY})
ROLES: Mapping[str, frozenset[Role]] = {
    f"{_SERVICE}{method}": roles
    for methods, roles in (
        (("Register", "Reconcile", "SubmitBallots"), _PARTY),
        (("Plan", "OpenSession", "OpenBatch", "Prepare", "Release", "SettleBatch", "CloseSession"), _QUERY),
    )
    for method in methods
}


class GuardianService(guardian_pb2_grpc.GuardianServicer):
    """Serves querying and answering parties; roles are checked before a method runs."""

    def __init__(self, coordinator: Coordinator, registrar: Registrar, ledger: Ledger) -> None:
        """Take the session machinery and the ledger whose audit head every acknowledgement carries."""
        self._coordinator = coordinator
        self._registrar = registrar
        self._ledger = ledger

    def Register(  # noqa: N802
        self, request: guardian_pb2.RegisterRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.RegisterReply:
        """Keep a party's signed manifest."""
        kept = self._registrar.register(peer_identity(context), request)
        return guardian_pb2.RegisterReply(audit_head=kept.head, epoch=kept.epoch, reconcile=kept.reconcile)

    def Reconcile(  # noqa: N802
        self, request_iterator: Iterator[guardian_pb2.ReconcileRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.ReconcileReply:
        """Take a party's receipts after the ledger was restored."""
        return self._registrar.reconcile(peer_identity(context), request_iterator)

    def Plan(  # noqa: N802
        self, request: guardian_pb2.PlanRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.PlanReply:
        """Say what a plan would cost."""
        return self._coordinator.plan(request.plan)

    def OpenSession(  # noqa: N802
        self, request: guardian_pb2.OpenSessionRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.OpenSessionReply:
        """Grant a plan."""
        grant = self._coordinator.open_session(peer_identity(context), request.plan)
        return guardian_pb2.OpenSessionReply(grant=grant)

    def OpenBatch(  # noqa: N802
        self, request: guardian_pb2.OpenBatchRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.OpenBatchReply:
        """Sign a batch's ticket."""
        ticket = self._coordinator.open_batch(
            peer_identity(context),
            request.session_id,
            request.batch_id,
            request.size,
            list(request.unavailable),
        )
        return guardian_pb2.OpenBatchReply(ticket=ticket)

    def SubmitBallots(  # noqa: N802
        self, request_iterator: Iterator[guardian_pb2.SubmitBallotsRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        """Keep a party's share."""
        header = next(request_iterator, guardian_pb2.SubmitBallotsRequest()).header
        share = self._read(header, (part.chunk for part in request_iterator))
        self._coordinator.submit(peer_identity(context), header.session_id, header.batch_id, share)
        return guardian_pb2.SubmitBallotsReply(audit_head=self._ledger.head())

    def Prepare(  # noqa: N802
        self, request: guardian_pb2.PrepareRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.PrepareReply:
        """Freeze the party set of a batch."""
        return self._coordinator.prepare(
            peer_identity(context), request.session_id, request.batch_id, list(request.parties)
        )

    def Release(  # noqa: N802
        self, request_iterator: Iterator[guardian_pb2.ReleaseRequest], context: grpc.ServicerContext
    ) -> Iterator[guardian_pb2.ReleaseReply]:
        """Release a batch; the answers are durable before the first message leaves."""
        header = next(request_iterator, guardian_pb2.ReleaseRequest()).header
        request = self._read(header, (part.chunk for part in request_iterator), header.score_width)
        querier = peer_identity(context)
        stored = self._coordinator.release(querier, header.session_id, header.batch_id, request)
        answers = guardian_pb2.ReleaseReply.FromString(stored).answers
        for start in range(0, len(answers), ANSWERS_PER_MESSAGE):
            yield guardian_pb2.ReleaseReply(answers=answers[start : start + ANSWERS_PER_MESSAGE])

    def SettleBatch(  # noqa: N802
        self, request: guardian_pb2.SettleBatchRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.SettleBatchReply:
        """Say what became of a batch, for good."""
        stored = self._coordinator.settle(peer_identity(context), request.session_id, request.batch_id)
        if stored is None:
            return guardian_pb2.SettleBatchReply(released=False)
        answers = guardian_pb2.ReleaseReply.FromString(stored).answers
        return guardian_pb2.SettleBatchReply(released=True, answers=answers)

    def CloseSession(  # noqa: N802
        self, request: guardian_pb2.CloseSessionRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.CloseSessionReply:
        """Close a session."""
        self._coordinator.close_session(peer_identity(context), request.session_id)
        return guardian_pb2.CloseSessionReply()

    def _read(
        self,
        header: guardian_pb2.BallotsHeader | guardian_pb2.ReleaseHeader,
        chunks: Iterator[common_pb2.Chunk],
        score_width: int = 0,
    ) -> Share:
        """Ring values, and the scores that follow them in a release of an interactive plan."""
        plan, size = self._coordinator.shape(header.session_id, header.batch_id)
        width = plan.mechanism.width(plan.classes)
        if (header.rows, header.width) != (size, width):
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"This batch takes {size} rows of {width} counts, not {header.rows} rows of {header.width}.",
            )
        scored = isinstance(header, guardian_pb2.ReleaseHeader) and isinstance(plan.mechanism, Interactive)
        needed = plan.classes if scored else 0
        if score_width != needed:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"Mechanism {plan.mechanism.kind} takes scores of {needed} classes with the sum, not of"
                f" {score_width}.",
            )
        ring = Ring(plan.ring_bits)
        split = size * width * ring.bits // 8
        expected = split + size * score_width * SCORE_BYTES
        data = join(chunks, expected=expected, sha256=header.sha256)
        values = ring.from_bytes(data[:split], size, width)
        return Share.of(values, _scores(data[split:], size) if scored else None)


def _scores(data: bytes, rows: int) -> NDArray[np.int64]:
    """A student's probabilities in units of 2^-16, rows x classes; `message.invalid` beyond 0 to 1."""
    scores = np.frombuffer(data, "<u4").astype(np.int64).reshape(rows, -1)
    if (scores > 2**FRACTION_BITS).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "A student's scores lie between 0 and 1; send its probabilities."
        )
    return scores
