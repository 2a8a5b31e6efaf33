"""Wires a party that learns together with others, and serves it until its teachers are trained."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import SystemClock
from ostraka.common.rpc import make_server
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.common.task import Task
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.protos.ostraka.v1 import training_pb2_grpc
from ostraka.services.admission.grants import Checker
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.hosting import Hosting
from ostraka.services.serving.metrics import TimedSubmitter
from ostraka.services.serving.wiring import PartySite, linked, serving
from ostraka.services.teachers.config import TEACHERS, Progress
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.preparation import Prepared
from ostraka.services.training.learning import JointLearning
from ostraka.services.training.rounds import Trainer
from ostraka.services.training.training_service import ROLES, TrainingService
from ostraka.services.training.variates import KeptVariates
from ostraka.services.voting.answers import IdempotentAnswers

UNFINISHED = "teachers.together"
"""Folder of what a party keeps between rounds."""


def learn(
    folder: Path,
    prepared: Prepared,
    task: Task,
    *,
    progress: Progress,
    ready_file: Path | None = None,
) -> Ensemble | None:
    """Serve site folder `folder` until its teachers are trained and stored; return None if stopped before.

    The same again goes on after the last round that the party took.

    Args:
        folder: the provisioned site; teachers are stored in its `teachers/`, the journal is `journal.db`.
        prepared: the records that they learn from.
        task: what is classified.
        progress: told how many rounds this party took, and how many there are.
        ready_file: where to write {"address": ...} once the guardian knows this party and rounds are taken.

    Raises:
        OstrakaError: `config.invalid`, `model.invalid`, `ledger.*`, `server.port_in_use`, or what the
            guardian refuses the manifest with.
    """
    stop = stop_on_signal()
    trained: list[Ensemble] = []

    def finished(ensemble: Ensemble) -> None:
        trained.append(ensemble)
        stop.set()

    with running(folder, prepared, task, stop=stop, progress=progress, finished=finished) as address:
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
    """Run a registered party that takes rounds within the block, and yield its address.

    Waits for a guardian that is not there yet until `stop` is set. `finished` gets the teachers once they are
    stored. Metrics are kept in `registry`, or in a new one. Drains at the end.
    """
    clock, site = SystemClock(), PartySite.load(folder)
    votes_per_person = site.section.max_votes_per_person
    learning = JointLearning.of(prepared, task, site.policy, site.config.site, votes_per_person)
    kept = KeptVariates(folder / UNFINISHED, prepared.manifest, len(learning.untrained))
    kept.open()
    with linked(site, clock, stop, registry) as link:
        submitter = TimedSubmitter(link.guardian, link.metrics)
        trainer = Trainer(
            learning,
            kept,
            IdempotentAnswers(link.journal, submitter, clock, on_answered=link.metrics.voted),
            folder / TEACHERS,
            progress=progress,
            finished=finished,
        )
        hosting, admission = Hosting(lambda: learning, link.guardian), Admission()
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
        with serving(bound, hosting, admission, stop) as address:
            yield address
