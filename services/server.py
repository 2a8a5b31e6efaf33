"""Wires an answering party together and serves it until told to stop."""

import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_section, load_site
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import BoundServer, make_server
from ostraka.common.serving import DRAIN_S, stop_on_signal, write_ready
from ostraka.common.task import load_task
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.common.telemetry.site import observing
from ostraka.protos.ostraka.v1 import party_pb2_grpc
from ostraka.services.answers import Answers
from ostraka.services.encrypted.answering import EncryptedVoter
from ostraka.services.grants import Checker
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.device import Device
from ostraka.services.hosting.hosted import Loader
from ostraka.services.hosting.hosting import Hosting, Orders
from ostraka.services.journal import Journal
from ostraka.services.metrics import PartyMetrics, TimedSubmitter
from ostraka.services.policy import PartySection, Policy
from ostraka.services.service import ROLES, PartyService
from ostraka.services.submission import GuardianLink
from ostraka.services.voting import Voter

AGAIN_S = 30.0
"""Seconds between two registrations: a guardian whose ledger is restored takes no vote before the next."""


def serve(folder: Path, *, ready_file: Path | None = None, insecure: bool = False) -> None:
    """Serve the answering party of site folder `folder` until SIGTERM or SIGINT, then drain.

    SIGHUP has it read its teachers again, without dropping a session.

    Args:
        folder: the provisioned site with `task.toml` and `teachers/`; the journal is `journal.db` in it.
        ready_file: where to write {"address": ...} once the guardian knows this party and votes are taken.
        insecure: no TLS; loopback only.

    Raises:
        OstrakaError: `config.invalid`, `task.mismatch`, `model.invalid`, `ledger.*`, `server.port_in_use`,
            `server.insecure_refused`, or what the guardian refuses the manifest with.
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

    Waits for a guardian that is not there yet until `stop` is set, and registers again every `again_s`.
    Teachers are read again whenever `orders` get "reload". Metrics are kept in `registry`, or in a new one.
    """
    clock = clock or SystemClock()
    site = load_site(folder)
    credentials = Credentials.of(site)
    section, policy = load_section(folder, "party", PartySection), load_section(folder, "policy", Policy)
    task = load_task(folder / section.task)
    guardian = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    with ExitStack() as stack:
        served = stack.enter_context(observing(folder, registry, credentials=credentials, clock=clock))
        metrics = PartyMetrics(served)
        journal = stack.enter_context(
            Journal(folder / "journal.db", cap=policy.cap, queries_per_day=policy.queries_per_day)
        )
        link = GuardianLink(
            credentials, site.guardian, guardian, journal, clock, insecure=insecure, sleep=stop.wait
        )
        stack.callback(link.close)
        device = stack.enter_context(closing(Device(metrics)))
        loader = Loader(folder, site.site, task, policy, section.max_votes_per_person, device)
        hosting, admission = Hosting(loader.load, link), Admission()
        metrics.watch_places(admission)
        metrics.watch_device(device)
        metrics.watch_limits(journal, policy, clock)
        submitter = TimedSubmitter(link, metrics)
        service = PartyService(
            Checker(credentials, guardian, clock),
            hosting,
            admission,
            Voter(Answers(journal, submitter, clock, told=metrics.voted)),
            EncryptedVoter(journal, submitter, clock, told=metrics.voted),
        )
        bound = make_server(
            credentials,
            site.listen,
            [lambda server: party_pb2_grpc.add_PartyServicer_to_server(service, server)],
            ROLES,
            clock,
            insecure=insecure,
            metrics=RpcMetrics(served),
        )
        stack.callback(bound.server.stop, None)
        bound.server.start()
        hosting.register(stop)
        stack.enter_context(hosting.kept_up(orders or Orders(), again_s))
        stack.callback(drain, bound, admission)
        yield bound.address


def drain(bound: BoundServer, admission: Admission) -> None:
    """Take no more batches and say so, while those under way get `DRAIN_S` seconds to finish."""
    bound.health.enter_graceful_shutdown()
    admission.close()
    structlog.get_logger().info("party.draining")
    admission.wait_until_empty(DRAIN_S)
    bound.server.stop(DRAIN_S).wait()
