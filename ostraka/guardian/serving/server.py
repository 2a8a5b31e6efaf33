"""Wires the guardian together and serves it until told to stop."""

import fcntl
import gc
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path

import structlog
from prometheus_client import CollectorRegistry
from threadpoolctl import threadpool_limits

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_site, require_role
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.relay.agent_process import attach_to_relays, watch_agent
from ostraka.common.rpc import make_server
from ostraka.common.rpc.limits import CallLimits
from ostraka.common.rpc.serving import DRAIN_S, stop_on_signal, write_ready
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.common.telemetry.site import observing
from ostraka.guardian.admin.admin_service import ROLES as ADMIN_ROLES
from ostraka.guardian.admin.admin_service import AdminService
from ostraka.guardian.figures import Store, computing
from ostraka.guardian.ledger import Ledger, UnitKey, open_guardian_ledger
from ostraka.guardian.ledger.members import policies
from ostraka.guardian.ledger.sessions import charging
from ostraka.guardian.ledger.site import ledger_address, ledger_location
from ostraka.guardian.members.member_standing import MemberStanding
from ostraka.guardian.members.registration import Registrar
from ostraka.guardian.noise import NoisePrefetcher, NoiseSource, ScheduledNoise, calibrate, open_noise
from ostraka.guardian.policy import PolicyInForce, load_policy
from ostraka.guardian.serving.metrics import GuardianMetrics
from ostraka.guardian.serving.service import ROLES, GuardianService
from ostraka.guardian.serving.timers import Forgetter, beating, following, forgetting, sweeping
from ostraka.guardian.sessions import Coordinator
from ostraka.protos.ostraka.v1 import admin_pb2_grpc, guardian_pb2_grpc

LOCK_FILE = "guardian.lock"
NEEDED_BY_CALLS = ("dp_accounting.rdp", "scipy.special")
"""Imports that the accounting of a call needs and commands do not: a second, for which the first budget would
otherwise wait.
"""
IDLE_S = 2.0
"""A party calls once per batch; thousands of connections kept open in between would take 0.08 MB each."""


def serve(
    folder: Path, *, ready_file: Path | None = None, insecure: bool = False, votes_may_tell: bool = False
) -> None:
    """Serve the guardian of site folder `folder` until SIGTERM or SIGINT, then drain.

    Args:
        folder: the provisioned site; the ledger is `ledger.db` in it, or where its table `[ledger]` says.
        ready_file: where to write {"address": ...} when the server accepts requests.
        insecure: no TLS; loopback only.
        votes_may_tell: whether stops and times may depend on votes. Policies that enforce data-dependent
            costs are then served, and the shutdown waits until every batch's data-dependent cost is computed.

    Raises:
        OstrakaError: `config.invalid`, `ledger.*`, `noise.self_test`, `policy.stops_tell_votes`,
            `server.port_in_use`, `server.insecure_refused`.
    """
    stop = stop_on_signal()
    with running(folder, insecure=insecure, votes_may_tell=votes_may_tell, superseded=stop.set) as address:
        gc.freeze()  # Nothing that serving needs is garbage: each collection took 70 ms.
        structlog.get_logger().info("guardian.serving", address=address)
        if ready_file is not None:
            write_ready(ready_file, address)
        stop.wait()


@contextmanager
def running(
    folder: Path,
    *,
    insecure: bool = False,
    votes_may_tell: bool = False,
    clock: Clock | None = None,
    noise: NoiseSource | None = None,
    sleep: Callable[[float], None] = time.sleep,
    superseded: Callable[[], object] = lambda: None,
    registry: CollectorRegistry | None = None,
) -> Iterator[str]:
    """Run a guardian with a recovered ledger, serve within the block, and yield its address.

    `sleep` waits for the rest of a noise draw's time slot. `superseded` is called when another guardian takes
    over; from then on the ledger refuses every request. Linear algebra uses one thread, so that its time does
    not depend on other work. Metrics are registered in `registry`, or in a new one. `votes_may_tell` is as
    for `serve`.
    """
    clock = clock or SystemClock()
    preload()
    require_role(folder, "guardian")
    site = load_site(folder)
    policy = load_policy(folder)
    credentials = Credentials.of(site)
    source = noise or open_noise(site.noise)
    scheduled = ScheduledNoise(source, calibrate(source), time.monotonic, sleep)
    with (
        threadpool_limits(1, "blas"),
        _alone(folder),  # before the ledger, whose fence would shut out the guardian that still serves
        open_guardian_ledger(folder, credentials, clock, ledger_address(folder, site.listen)) as ledger,
        attach_to_relays(site, serves=True) as (_, agent),
        observing(folder, registry, credentials=credentials, clock=clock) as served,
        nullcontext(GuardianMetrics(served, clock)) as metrics,
        beating(ledger, superseded, told=metrics.lease),
        following(ledger, credentials.revocations),
        closing(NoisePrefetcher(scheduled)) as ahead,
        computing(_storing(ledger), finish=votes_may_tell) as figures,
    ):
        in_force = PolicyInForce(
            lambda: ledger.read(policies.in_force), policy, votes_may_tell=votes_may_tell
        )
        # A policy that this guardian may not serve is refused before anybody can reach the guardian.
        in_force.current()
        coordinator = Coordinator(ledger, credentials, in_force, clock, ahead, figures, metrics)
        metrics.watch(ledger, lambda: coordinator.under_way)
        registrar = Registrar(ledger, credentials, in_force, clock)
        standing = MemberStanding(ledger, in_force, clock)
        service = GuardianService(coordinator, registrar, standing, ledger, metrics.note_registration)
        admin = AdminService(ledger, in_force, credentials, clock, site.noise, source)
        bound = make_server(
            None if insecure else credentials,
            site.listen,
            [
                lambda server: guardian_pb2_grpc.add_GuardianServicer_to_server(service, server),
                lambda server: admin_pb2_grpc.add_AdminServicer_to_server(admin, server),
            ],
            {**ROLES, **ADMIN_ROLES},
            clock,
            insecure=insecure,
            metrics=RpcMetrics(served),
            limits=CallLimits(idle_s=IDLE_S),
        )
        bound.server.start()
        if agent is not None:
            watch_agent(served, agent)
            agent.serve(bound.address)
        try:
            forgetter = Forgetter(ledger, in_force, clock)
            with sweeping(coordinator.expire), forgetting(forgetter.forget), bound.handshakes.watching():
                yield bound.address
        finally:
            bound.server.stop(DRAIN_S).wait()


def preload() -> None:
    """Import what calls need, so that no call waits for an import."""
    for module in NEEDED_BY_CALLS:
        import_module(module)


def _storing(ledger: Ledger) -> Store:
    def store(
        session_id: str, batch_id: int, figures: Mapping[UnitKey, int], totals: Mapping[UnitKey, bytes]
    ) -> None:
        ledger.write_session(session_id, charging.store_figures, batch_id, figures, totals)

    return store


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second guardian from taking over the file of one that still serves from `folder`.

    In a database guardians are separated anyway.
    """
    if isinstance(ledger_location(folder), str):
        yield
        return
    with (folder / LOCK_FILE).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise OstrakaError(
                ErrorCode.LEDGER_LOCKED, f"Another guardian serves from {folder}; stop it first."
            ) from exc
        yield
