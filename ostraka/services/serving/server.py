"""Wires an answering party together and serves it until told to stop."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import grpc
import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.rpc import make_server
from ostraka.common.rpc.serving import stop_on_signal, write_ready
from ostraka.common.task import load_task
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.protos.ostraka.v1 import party_pb2_grpc
from ostraka.services.admission.grants import Checker
from ostraka.services.encrypted.answering import EncryptedVoter
from ostraka.services.encrypted.head_processes import HeadProcesses, head_processes
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.device import Device
from ostraka.services.hosting.hosted import Hosted, Loader
from ostraka.services.hosting.hosting import Hosting, Orders
from ostraka.services.serving.metrics import TimedSubmitter
from ostraka.services.serving.service import ROLES, PartyService
from ostraka.services.serving.wiring import AGAIN_S, PartyLink, PartySite, linked, serving
from ostraka.services.voting.answers import IdempotentAnswers
from ostraka.services.voting.voting import Voter


def serve(folder: Path, *, ready_file: Path | None = None, insecure: bool = False) -> None:
    """Serve the answering party of site folder `folder` until SIGTERM or SIGINT, then drain.

    SIGHUP has it read its teachers again, without dropping a session.

    Args:
        folder: the provisioned site with `task.toml` and `teachers/`; the journal is `journal.db` in it.
        ready_file: where to write {"address": ...} once the guardian knows this party and votes are taken.
        insecure: no TLS; loopback only.

    Raises:
        OstrakaError: `config.invalid`, `task.mismatch`, `model.invalid`, `ledger.*`, `server.port_in_use`,
            `server.insecure_refused`, `server.device_gone`, or what the guardian refuses the manifest with.
    """
    stop, orders = stop_on_signal(), Orders()
    signal.signal(signal.SIGHUP, lambda *_: orders.put("reload"))
    with running(folder, stop=stop, orders=orders, insecure=insecure) as address:
        if ready_file is not None and not stop.is_set():
            write_ready(ready_file, address)
        structlog.get_logger().info("party.serving", address=address)
        stop.wait()


@contextmanager
def running(
    folder: Path,
    *,
    stop: threading.Event,
    orders: Orders | None = None,
    insecure: bool = False,
    clock: Clock | None = None,
    again_s: float = AGAIN_S,
    registry: CollectorRegistry | None = None,
) -> Iterator[str]:
    """Run a registered party that serves within the block, and yield its address; drain at the end.

    Waits for a guardian that is not there yet until `stop` is set, and registers again every `again_s`. As
    often a device that is gone is asked whether it is back; until then health says that nothing is served.
    Teachers are read again whenever `orders` get "reload". Metrics are kept in `registry`, or in a new one.
    """
    clock = clock or SystemClock()
    site = PartySite.load(folder)
    task = load_task(folder / site.section.task)
    with (
        linked(site, clock, stop, registry, insecure=insecure) as link,
        closing(Device(link.metrics)) as device,
        head_processes() as processes,
    ):
        name, votes_per_person = site.config.site, site.section.max_votes_per_person
        loader = Loader(folder, name, task, site.policy, votes_per_person, device)
        hosting = Hosting(loader.load, link.guardian, lambda hosted: device.state.retry(hosted.probe))
        admission = Admission()
        link.metrics.watch_places(admission)
        link.metrics.watch_device(device)
        bound = make_server(
            site.credentials,
            site.config.listen,
            [_adding(_service(site, link, hosting, admission, clock, processes))],
            ROLES,
            clock,
            insecure=insecure,
            metrics=RpcMetrics(link.registry),
        )
        device.state.watch(lambda works: bound.health.turn(serving=works))
        with serving(bound, hosting, admission, stop, orders=orders, again_s=again_s) as address:
            yield address


def _service(
    site: PartySite,
    link: PartyLink,
    hosting: Hosting[Hosted],
    admission: Admission,
    clock: Clock,
    processes: HeadProcesses | None,
) -> PartyService:
    submitter, voted = TimedSubmitter(link.guardian, link.metrics), link.metrics.voted
    return PartyService(
        Checker(site.credentials, site.guardian, clock),
        hosting,
        admission,
        Voter(IdempotentAnswers(link.journal, submitter, clock, on_answered=voted)),
        EncryptedVoter(link.journal, submitter, clock, on_answered=voted, processes=processes),
    )


def _adding(service: PartyService) -> Callable[[grpc.Server], None]:
    return lambda server: party_pb2_grpc.add_PartyServicer_to_server(service, server)
