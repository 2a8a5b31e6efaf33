"""The calls that a party serves while its teachers learn together with those of other parties."""

import hashlib
from collections.abc import Iterator, Mapping

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.rpc import join, peer_identity, split
from ostraka.protos.ostraka.v1 import party_pb2, training_pb2, training_pb2_grpc
from ostraka.services.admission.grants import Checker
from ostraka.services.hosting.admission import Admission
from ostraka.services.training.learning import JointLearning
from ostraka.services.training.rounds import Trainer, average_bytes

ROLES: Mapping[str, frozenset[Role]] = {
    f"/ostraka.v1.Training/{call}": frozenset({Role.PARTY}) for call in ("Join", "Train", "Finish")
}


class TrainingService(training_pb2_grpc.TrainingServicer):
    """Serves the party that leads; its role is checked before a method runs."""

    def __init__(
        self, checker: Checker, learning: JointLearning, admission: Admission, trainer: Trainer
    ) -> None:
        """Take what checks requests, who learns, for how many there is room, and what answers."""
        self._checker = checker
        self._learning = learning
        self._admission = admission
        self._trainer = trainer

    def Join(
        self, request: training_pb2.JoinRequest, context: grpc.ServicerContext
    ) -> Iterator[training_pb2.JoinReply]:
        """Says what is trained here, with untrained parameters for the average to start from."""
        self._learning.check_kind(request.kind)
        parameters, known = self._learning.untrained, self._learning.prepared.manifest
        data = parameters.astype("<f4").tobytes()
        header = training_pb2.JoinHeader(
            model=known.model,
            parameters=len(parameters),
            task_digest=self._learning.manifest.task_digest,
            sha256=hashlib.sha256(data).digest(),
        )
        yield training_pb2.JoinReply(header=header)
        yield from (training_pb2.JoinReply(chunk=chunk) for chunk in split(data))

    def Train(
        self, request_iterator: Iterator[training_pb2.TrainRequest], context: grpc.ServicerContext
    ) -> party_pb2.VoteReplyHeader:
        """Take one round; read nothing of the average before its header is found good."""
        header, lead = _header(request_iterator), peer_identity(context)
        permission = self._checker.check(header, lead, rows=1)
        mechanism = self._learning.check(permission, lead)
        with self._admission.place(self._average_bytes, lead.site):
            average = self._average(header, request_iterator)
            return self._trainer.train(permission, mechanism, header, average, lead)

    def Finish(
        self, request_iterator: Iterator[training_pb2.TrainRequest], context: grpc.ServicerContext
    ) -> training_pb2.FinishReply:
        """Store the teachers after their last local steps, then let the party stop serving."""
        header, lead = _header(request_iterator), peer_identity(context)
        session = self._checker.session(header, lead, may_be_over=True)
        mechanism = self._learning.check(session, lead)
        with self._admission.place(self._average_bytes, lead.site):
            average = self._average(header, request_iterator)
            self._trainer.finish(session, mechanism, header, average, lead)
        return training_pb2.FinishReply()

    @property
    def _average_bytes(self) -> int:
        return average_bytes(len(self._learning.untrained))

    def _average(
        self, header: training_pb2.TrainHeader, messages: Iterator[training_pb2.TrainRequest]
    ) -> bytes:
        chunks = (message.chunk for message in messages)
        return join(chunks, expected=self._average_bytes, sha256=header.sha256)


def _header(messages: Iterator[training_pb2.TrainRequest]) -> training_pb2.TrainHeader:
    first = next(messages, training_pb2.TrainRequest())
    if first.WhichOneof("part") != "header":
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "A round begins with its header: send it first.")
    return first.header
