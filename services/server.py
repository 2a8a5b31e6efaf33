"""Wires an answering party together and serves it until told to stop."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import structlog

from common.clock import Clock, SystemClock
from common.config import load_section, load_site
from common.errors import ErrorCode, OstrakaError
from common.identity import Credentials, Identity, Role
from common.rpc import make_server
from common.serving import DRAIN_S, stop_on_signal, write_ready
from common.task import Task, load_task
from protos.ostraka.v1 import common_pb2, party_pb2_grpc
from services.ballots import Records, Teachers
from services.declared import Declared
from services.encrypted.answering import EncryptedVoter
from services.grants import Checker
from services.journal import Journal
from services.policy import PartySection, Policy
from services.service import ROLES, PartyService
from services.submission import GuardianLink
from services.teachers.config import TrainingSection
from services.teachers.manifest import TeachersManifest
from services.terms import Terms
from services.voting import Voter

TRANSIENT = frozenset(
    {
        ErrorCode.LEDGER_FENCED,
        ErrorCode.LEDGER_LOCKED,
        ErrorCode.LEDGER_UNREACHABLE,
        ErrorCode.SERVER_TIMEOUT,
        ErrorCode.SERVER_UNREACHABLE,
    }
)
"""Refusals of a manifest that waiting may mend."""
AGAIN_S = 30.0
"""Seconds between two registrations: a guardian whose ledger is restored takes no vote before the next."""


def serve(folder: Path, *, ready_file: Path | None = None, insecure: bool = False) -> None:
    """Serves the answering party of site folder `folder` until SIGTERM or SIGINT, then drains.

    Args:
        folder: the provisioned site with `task.toml` and `teachers/`; the journal is `journal.db` in it.
        ready_file: where to write {"address": ...} once the guardian knows this party and votes are taken.
        insecure: no TLS; loopback only.

    Raises:
        OstrakaError: `config.invalid`, `task.mismatch`, `model.invalid`, `ledger.*`, `server.port_in_use`,
            `server.insecure_refused`, or what the guardian refuses the manifest with.
    """
    stop = stop_on_signal()
    with running(folder, stop=stop, insecure=insecure) as address:
        if ready_file is not None and not stop.is_set():
            write_ready(ready_file, address)
        structlog.get_logger().info("party.serving", address=address)
        stop.wait()


@contextmanager
def running(
    folder: Path,
    *,
    stop: threading.Event,
    insecure: bool = False,
    clock: Clock | None = None,
    again_s: float = AGAIN_S,
) -> Iterator[str]:
    """A party that is registered and serves within the block, which gets its address; drains at the end.

    Waits for a guardian that is not there yet until `stop` is set, and registers again every `again_s`.
    """
    from services.encrypted.heads import encrypted_heads
    from services.teachers import Ensemble

    clock = clock or SystemClock()
    site, credentials = load_site(folder), Credentials.load(folder)
    section, policy = load_section(folder, "party", PartySection), load_section(folder, "policy", Policy)
    task = load_task(folder / section.task)
    ensemble = Ensemble.load(folder / "teachers")
    ensemble.require_task(task)
    heads = encrypted_heads(ensemble) if ensemble.manifest.head else ()
    teachers = Teachers(ensemble, ensemble.manifest.teachers, task)
    records = _records(folder, task, ensemble.manifest) if policy.label_counts else None
    guardian = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    manifest = common_pb2.Manifest(
        site=site.site,
        task_digest=task.digest,
        groups=ensemble.groups,
        max_votes_per_person=section.max_votes_per_person,
        training=ensemble.training,
        mixed=ensemble.mixed,
        head=ensemble.manifest.head,
        encoder=ensemble.manifest.encoder,
        encoder_sha256=bytes.fromhex(ensemble.manifest.encoder_sha256),
    )
    copies = {group.name: group.copies for group in ensemble.groups}
    declared = Declared(ensemble.cliques, copies, section.max_votes_per_person)
    terms = Terms(task, policy, declared, ensemble.manifest.head, manifest.encoder, manifest.encoder_sha256)
    with ExitStack() as stack:
        journal = stack.enter_context(
            Journal(folder / "journal.db", cap=policy.cap, queries_per_day=policy.queries_per_day)
        )
        link = GuardianLink(
            credentials, site.guardian, guardian, journal, clock, insecure=insecure, sleep=stop.wait
        )
        stack.callback(link.close)
        service = PartyService(
            Checker(credentials, guardian, clock),
            terms,
            Voter(terms, teachers, records, journal, link, clock),
            EncryptedVoter(terms, heads, journal, link, clock),
        )
        bound = make_server(
            credentials,
            site.listen,
            [lambda server: party_pb2_grpc.add_PartyServicer_to_server(service, server)],
            ROLES,
            clock,
            insecure=insecure,
        )
        stack.callback(lambda: bound.server.stop(DRAIN_S).wait())
        bound.server.start()
        register(link, manifest, stop)
        with registering(link, manifest, again_s):
            yield bound.address


def _records(folder: Path, task: Task, manifest: TeachersManifest) -> Records:
    """The labelled records of site folder `folder` that its teachers were trained on."""
    section = load_section(folder, "training", TrainingSection)
    return Records.load(folder / section.required_data, task, manifest)


def register(link: GuardianLink, manifest: common_pb2.Manifest, stop: threading.Event) -> None:
    """Registers at the guardian, waiting for one that is not up until `stop` is set."""
    while not stop.is_set():
        try:
            return link.register(manifest)
        except OstrakaError as exc:
            if exc.code not in TRANSIENT:
                raise
            structlog.get_logger().warning("party.waiting_for_guardian", sentence=exc.message)
    return None


@contextmanager
def registering(link: GuardianLink, manifest: common_pb2.Manifest, again_s: float) -> Iterator[None]:
    """Registers every `again_s` seconds within the block, and tells the log where that fails."""
    done = threading.Event()

    def again() -> None:
        while not done.wait(again_s):
            try:
                link.register(manifest, attempts=1)
            except OstrakaError as exc:
                structlog.get_logger().warning("party.not_registered", code=exc.code, sentence=exc.message)

    thread = threading.Thread(target=again, name="registering", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(DRAIN_S)
