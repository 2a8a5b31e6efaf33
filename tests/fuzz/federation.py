"""A whole federation with real certificates, ledger and teachers, and the honest sessions of its members."""

from __future__ import annotations

import itertools
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Event

import numpy as np

from ostraka.client.peers.retry import Retry
from ostraka.client.run.labelling import LabellingRun, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.site import connect_guardian, connect_parties, guardian_of, load_query_site, threads
from ostraka.client.session.permissions import Permissions
from ostraka.client.sums.peer import SumPeer
from ostraka.client.sums.sum_store import SumStore
from ostraka.client.sums.summing import SummingSession
from ostraka.client.training.joining import TrainingOptions
from ostraka.client.training.leading import lead
from ostraka.common.clock import SystemClock
from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.datasets import Dataset, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import Confident, GnMax, LnMax, Mechanism, Moments
from ostraka.common.plan.choices import ENCODING, TALLY
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import MomentsQuestion
from ostraka.common.task import infer_task, load_task, write_task
from ostraka.deploy.provisioning import provision
from ostraka.deploy.simulation.processes import Child, ChildCommand, Supervisor
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc
from ostraka.services.serving.server import running as voting
from ostraka.services.teachers import train
from ostraka.services.teachers.config import TEACHERS, TrainingConfig, TrainingSection
from ostraka.services.teachers.preparation import prepare
from ostraka.services.training.training_server import running as learning
from tests.fuzz.administration import SPARE, administer, set_budget
from tests.fuzz.calling import Server
from tests.fuzz.clients import streaming_shares

NAME = "fuzz"
VOTERS, LEARNERS = ("a", "b"), ("c", "d")
EPSILON = 1e7
"""Epsilon of budgets that nothing here uses up."""
POLICY = (
    'encodings = ["plain", "ckks"]\nmin_sigma = 0.01\nmin_quorum = 2\nfreeze_after_s = 1.0\n'
    'mechanisms = ["votes", "sums", "dp_ttac"]\n'
    "max_open_sessions = 1_000_000\nmax_open_batches = 1_000_000\n"
    "[policy.consent]\nlow = 2.0\nhigh = 8.0\n"
)
VOTERS_POLICY = (
    'encodings = ["plain", "ckks"]\nmechanisms = ["votes", "sums"]\n[training]\ndata = "records.npz"\n'
)
FEATURES, CLASSES, RECORDS, QUERIES, BATCH = 4, 3, 60, 8, 4
SOON = Retry(attempts=2, base_s=0.01)
READY_S = 120.0
DP_TTAC = TrainingOptions(
    kind="dp_ttac",
    rounds=3,
    steps=1,
    batch_size=8,
    learning_rate=0.2,
    decay=0.9,
    average_rate=1.0,
    clip="record",
    radius=1.0,
    sigma=1.0,
    quorum=2,
)
ASKED: Mapping[str, tuple[Mechanism, ENCODING, TALLY]] = {
    "plain": (GnMax(sigma=0.5), "plain", "aggregate"),
    "with a check": (Confident(sigma1=0.5, sigma2=0.5, threshold=2.0), "plain", "aggregate"),
    "laplace": (LnMax(gamma=2.0), "plain", "aggregate"),
    "blind": (Confident(sigma1=0.5, sigma2=0.5, threshold=2.0), "plain", "blind"),
    "encrypted": (GnMax(sigma=0.5), "ckks", "aggregate"),
    "encrypted and blind": (GnMax(sigma=0.5), "ckks", "blind"),
}


@dataclass
class Federation:
    """Servers, members and sessions.

    Attributes:
        folder: the folder of all sites.
        servers: by name; `members` by name, None for one without a certificate.
        children: the servers that are processes.
        sessions: what honest members do, by name.
    """

    folder: Path
    servers: dict[str, Server] = field(default_factory=dict)
    members: dict[str, Credentials | None] = field(default_factory=dict)
    children: list[Child] = field(default_factory=list)
    sessions: dict[str, Callable[[], None]] = field(default_factory=dict)
    _runs: Iterator[int] = field(default_factory=itertools.count)

    @property
    def ca_pem(self) -> bytes:
        """The certificate of the federation's CA."""
        return (self.folder / "sites" / "ca" / "ca.crt").read_bytes()

    @property
    def logs(self) -> Path:
        """The folder of all processes' logs."""
        return self.folder / "logs"

    def site(self, name: str) -> Path:
        """Return a site's folder."""
        return self.folder / "sites" / name

    def signers(self) -> dict[str, Credentials]:
        """Return the signer of each kind of forged message."""
        guardian, spare, query = (Credentials.load(self.site(name)) for name in ("guardian", SPARE, "query"))
        signed_by = {
            guardian: ("grant", "ticket", "audit"),
            spare: ("manifest", "agreement", "receipts", "attestation"),
            query: ("evaluation",),
        }
        return {name: signer for signer, names in signed_by.items() for name in names}

    def admin(self, call: Callable[[admin_pb2_grpc.AdminStub], object]) -> None:
        """Make an administrator's call."""
        admin_call(self.site("admin"), call)

    def restore_policy(self) -> None:
        """Apply the policy that honest sessions need, if another one is in force."""
        reply = admin_call(self.site("admin"), lambda stub: stub.ShowPolicy(admin_pb2.ShowPolicyRequest()))
        if reply.version == 0 or reply.toml != POLICY_TOML:
            request = admin_pb2.ApplyPolicyRequest(toml=POLICY_TOML, reason="for honest sessions")
            self.admin(lambda stub: stub.ApplyPolicy(request))

    def ask(self, name: str) -> None:
        """Label a pool; raises `session.ended` unless every query was asked."""
        self.restore_policy()
        mechanism, encoding, tally = ASKED[name]
        site = self.site("query")
        options = PlanOptions(mechanism=mechanism, quorum=2, batch_size=BATCH, encoding=encoding, tally=tally)
        run = site / f"run-{next(self._runs)}"
        result = label(site, site / "pool.npz", options, run, run=LabellingRun(retry=SOON))
        shutil.rmtree(run)
        if result.unasked:
            raise OstrakaError(ErrorCode.SESSION_ENDED, f"{result.unasked} queries were not asked.")

    def stream(self) -> None:
        """Label a pool with calls that send every share as a stream."""
        with streaming_shares():
            self.ask("plain")

    def add_up(self) -> None:
        """Ask for sums over records, one question after the other."""
        self.restore_policy()
        site = load_query_site(self.site("query"))
        run = self.site("query") / f"run-{next(self._runs)}"
        run.mkdir()
        clock = SystemClock()
        with ExitStack() as stack:
            guardian = stack.enter_context(connect_guardian(site, clock, SOON))
            pool = stack.enter_context(threads(len(site.parties)))
            parties = stack.enter_context(connect_parties(site, site.parties, SumPeer, clock, SOON, pool))
            plan = Plan(
                nonce=secrets.token_bytes(NONCE_BYTES),
                task_digest=load_task(self.site("query") / "task.toml").digest,
                classes=CLASSES,
                mechanism=Moments(columns=FEATURES + 1, codes=CLASSES, sigma=0.5),
                parties=VOTERS,
                quorum=2,
                queries=2,
                batch_size=1,
            )
            store = SumStore.create(run, plan.serialize())
            permissions = Permissions(Credentials.of(site), guardian_of(site), clock)
            session = SummingSession(guardian, parties, permissions, store)
            for scale in (1.0, 10.0):
                session.ask(
                    MomentsQuestion(FeatureMap(np.zeros(FEATURES), scale), ClassCodes(np.eye(CLASSES)))
                )
            session.close()
        shutil.rmtree(run)

    def learn(self) -> None:
        """Lead a training."""
        self.restore_policy()
        out = self.site("c") / f"training-{next(self._runs)}"
        lead(self.site("c"), DP_TTAC, out=out, retry=SOON)
        shutil.rmtree(out)


POLICY_TOML = POLICY.replace("[policy.consent]", "[consent]")


def records(site: str) -> Dataset:
    """Draw a site's own records."""
    draws = np.random.default_rng(ord(site[0]))
    y = np.arange(RECORDS) % CLASSES
    return from_arrays(draws.normal(size=(RECORDS, FEATURES)) + 2 * y[:, None], y)


@contextmanager
def federation(folder: Path) -> Iterator[Federation]:
    """Run a serving federation: guardian and party a as processes, party b and learners in this one."""
    made = Federation(folder)
    provision(NAME, (*VOTERS, *LEARNERS, SPARE), "query", folder / "sites", base_port=0)
    _place(made)
    with ExitStack() as stack:
        processes = stack.enter_context(Supervisor(made.logs))
        _serve(made, processes, "guardian", "guardian")
        _tell(made, "guardian", (*VOTERS, *LEARNERS, SPARE, "query", "admin", "rival"))
        for site in VOTERS:
            _set_policy(made.site(site), VOTERS_POLICY)
        _serve(made, processes, "party", "a")
        addresses = {"b": stack.enter_context(voting(made.site("b"), stop=Event()))}
        addresses |= {site: stack.enter_context(_learning(made.site(site))) for site in LEARNERS}
        for site, address in addresses.items():
            made.servers[site] = Server(address, Identity(NAME, site, Role.PARTY))
        for site, known in (("query", VOTERS), ("rival", VOTERS), ("c", LEARNERS)):
            _configure(made.site(site), parties={name: made.servers[name].address for name in known})
        made.sessions = {name: partial(made.ask, name) for name in ASKED}
        made.sessions |= {
            "as streams": made.stream,
            "sums": made.add_up,
            "training": made.learn,
            "administration": partial(administer, made.folder / "sites"),
        }
        for site in (*VOTERS, *LEARNERS):
            set_budget(made.site("admin"), site, "all", EPSILON)
        yield made


def _place(made: Federation) -> None:
    """Give every site its records, task, teachers and policy, and issue further members' certificates."""
    ca = CertificateAuthority.load(made.site("ca"))
    made.site("rival").mkdir()
    ca.issue(Identity(NAME, "rival", Role.QUERY), made.site("rival"), SystemClock())
    write_site(
        load_site(made.site("query")).model_copy(update={"site": "rival", "folder": made.site("rival")})
    )
    made.site("foreign").mkdir()
    stranger = CertificateAuthority.create(NAME, SystemClock())
    foreign = stranger.issue(Identity(NAME, "query", Role.QUERY), made.site("foreign"), SystemClock())
    named = ("query", "rival", "admin", "guardian", "b", *LEARNERS, SPARE)
    made.members = {name: Credentials.load(made.site(name)) for name in named}
    made.members |= {"foreign": foreign, "nobody": None}
    _set_policy(made.site("guardian"), POLICY)
    task = infer_task(records("a"), "columns", *map(records, (*VOTERS, *LEARNERS)))
    for site in (*VOTERS, *LEARNERS, SPARE, "query"):
        write_task(task, made.site(site) / "task.toml")
    for site in VOTERS:
        config = TrainingConfig(teachers=2, head="linear")
        train(records(site), task, config, seed=1).save(made.site(site) / TEACHERS)
        save(records(site), made.site(site) / "records.npz")
    pool = records("a")
    save(from_arrays(pool.X[:QUERIES], None), made.site("query") / "pool.npz")


def _serve(made: Federation, processes: Supervisor, group: str, site: str) -> None:
    ready = made.folder / f"{site}.json"
    command = [group, "serve", "--site", str(made.site(site)), "--ready-file", str(ready)]
    child = processes.start(ChildCommand(site, command))
    address = processes.wait_ready(child, ready, READY_S)
    made.children.append(child)
    made.servers[site] = Server(address, Credentials.load(made.site(site)).identity)


@contextmanager
def _learning(folder: Path) -> Iterator[str]:
    task = load_task(folder / "task.toml")
    section = TrainingSection(teachers=2, model="logistic")
    prepared = prepare(records(folder.name), task, section, seed=1, together="dp-ttac")
    with learning(
        folder, prepared, task, stop=Event(), progress=lambda *_: None, finished=lambda _: None
    ) as address:
        yield address


def _tell(made: Federation, guardian: str, sites: tuple[str, ...]) -> None:
    for site in sites:
        _configure(made.site(site), guardian=made.servers[guardian].address)


def _set_policy(folder: Path, policy: str) -> None:
    write_site(load_site(folder))
    with (folder / SITE_FILE).open("a") as file:
        file.write(f"\n[policy]\n{policy}")


def _configure(folder: Path, **addresses: object) -> None:
    config: SiteConfig = load_site(folder)
    write_site(config.model_copy(update=addresses))
