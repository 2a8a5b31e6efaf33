"""The server of a party in a joint training, which serves until its teachers are trained."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import grpc
import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import SystemClock
from ostraka.common.identity import Role
from ostraka.common.rpc import join, make_server, peer_identity
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.common.rpc.shares import read_stream, stream_share
from ostraka.common.task import Task
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.protos.ostraka.v1 import party_pb2, training_pb2, training_pb2_grpc
from ostraka.services.admission.grants import Checker
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.hosting import Hosting
from ostraka.services.serving.metrics import TimedSubmitter
from ostraka.services.serving.wiring import PartySite, open_link, serving
from ostraka.services.teachers.config import TEACHERS, Progress
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.preparation import Prepared
from ostraka.services.training.learning import JointLearning
from ostraka.services.training.rounds import Trainer, average_bytes
from ostraka.services.training.variates import KeptVariates
from ostraka.services.voting.answers import IdempotentAnswers

ROLES: Mapping[str, frozenset[Role]] = {
    f"/ostraka.v1.Training/{call}": frozenset({Role.PARTY}) for call in ("Join", "Train", "Finish")
}


class TrainingService(training_pb2_grpc.TrainingServicer):
    """Serves the lead party; its role is checked before a method runs."""

    def __init__(
        self, checker: Checker, learning: JointLearning, admission: Admission, trainer: Trainer
    ) -> None:
        self._checker = checker
        self._learning = learning
        self._admission = admission
        self._trainer = trainer

    def Join(
        self, request: training_pb2.JoinRequest, context: grpc.ServicerContext
    ) -> Iterator[training_pb2.JoinReply]:
        """Stream what is trained here, with untrained parameters as the average's start."""
        self._learning.check_kind(request.kind)
        parameters = self._learning.untrained
        known = self._learning.prepared.manifest
        data = parameters.astype("<f4").tobytes()
        header = training_pb2.JoinHeader(
            model=known.model,
            parameters=len(parameters),
            task_digest=self._learning.manifest.task_digest,
            sha256=hashlib.sha256(data).digest(),
        )
        yield from stream_share(training_pb2.JoinReply, header, data)

    def Train(
        self, request_iterator: Iterator[training_pb2.TrainRequest], context: grpc.ServicerContext
    ) -> party_pb2.VoteReplyHeader:
        """Do one round; the average is read only after the header was checked."""
        header, chunks = read_stream(request_iterator)
        lead = peer_identity(context)
        permission = self._checker.check(header, lead, rows=1)
        mechanism = self._learning.check(permission, lead)
        with self._admission.place(self._average_bytes, lead.site):
            average = join(chunks, expected=self._average_bytes, sha256=header.sha256)
            return self._trainer.train(permission, mechanism, header, average, lead)

    def Finish(
        self, request_iterator: Iterator[training_pb2.TrainRequest], context: grpc.ServicerContext
    ) -> training_pb2.FinishReply:
        """Store the teachers after their last local steps, then let the party stop serving."""
        header, chunks = read_stream(request_iterator)
        lead = peer_identity(context)
        session = self._checker.session(header, lead, may_be_over=True)
        mechanism = self._learning.check(session, lead)
        with self._admission.place(self._average_bytes, lead.site):
            average = join(chunks, expected=self._average_bytes, sha256=header.sha256)
            self._trainer.finish(session, mechanism, header, average, lead)
        return training_pb2.FinishReply()

    @property
    def _average_bytes(self) -> int:
        return average_bytes(len(self._learning.untrained))


UNFINISHED = "teachers.together"
"""Folder of a party's data between rounds."""


def learn(
    folder: Path,
    prepared: Prepared,
    task: Task,
    *,
    progress: Progress,
    ready_file: Path | None = None,
) -> Ensemble | None:
    """Serve site folder `folder` until its teachers are trained and stored; return None if stopped before.

    Calling again resumes after the party's last round.

    Args:
        folder: the provisioned site; teachers are stored in its `teachers/`, the journal is `journal.db`.
        prepared: the records that they learn from.
        task: the task.
        progress: called with the number of rounds that this party did, and their total.
        ready_file: where to write {"address": ...} once the party is registered and accepts rounds.

    Raises:
        OstrakaError: `config.invalid`, `model.invalid`, `ledger.*`, `server.port_in_use`, or the guardian's
            refusal of the manifest.
    """
    stop = stop_on_signal()
    trained: list[Ensemble] = []

    def stop_with(ensemble: Ensemble) -> None:
        trained.append(ensemble)
        stop.set()

    with running(folder, prepared, task, stop=stop, progress=progress, finished=stop_with) as address:
        if ready_file is not None and not stop.is_set():
            write_ready(ready_file, address)
        structlog.get_logger().info("party.learning", address=address)
        stop.wait()
    return trained[-1] if trained else None


@contextmanager
def running(
    folder: Path,
    prepared: Prepared,
    task: Task,
    *,
    stop: threading.Event,
    progress: Progress,
    finished: Callable[[Ensemble], object],
    registry: CollectorRegistry | None = None,
) -> Iterator[str]:
    """Run a registered party that does rounds in the block, and yield its address.

    Waits for the guardian until `stop` is set. `finished` is called with the teachers once they are stored.
    Metrics are stored in `registry`, or in a new one. Drains at the end.
    """
    clock = SystemClock()
    site = PartySite.load(folder)
    votes_per_person = site.section.max_votes_per_person
    learning = JointLearning.of(
        prepared, task, site.policy, site.config.site, votes_per_person, site.section.open_device()
    )
    kept = KeptVariates(folder / UNFINISHED, prepared.manifest, len(learning.untrained))
    # Before any calls arrive: it removes what another training left.
    kept.open()
    with open_link(site, clock, stop, registry) as link:
        submitter = TimedSubmitter(link.guardian, link.metrics)
        trainer = Trainer(
            learning,
            kept,
            IdempotentAnswers(link.journal, submitter, clock, on_answered=link.metrics.count_batch),
            folder / TEACHERS,
            progress=progress,
            finished=finished,
        )
        hosting = Hosting(lambda: learning, link.guardian)
        admission = Admission()
        link.metrics.watch_places(admission)
        checker = Checker(site.credentials, site.guardian, clock)
        service = TrainingService(checker, learning, admission, trainer)
        bound = make_server(
            site.credentials,
            site.config.listen,
            [lambda server: training_pb2_grpc.add_TrainingServicer_to_server(service, server)],
            ROLES,
            clock,
            metrics=RpcMetrics(link.registry),
        )
        with serving(bound, hosting, admission, stop, agent=link.agent) as address:
            yield address
