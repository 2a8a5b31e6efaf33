"""The peers of a party that learns together with others: a guardian that keeps shares, and a lead."""

import hashlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from numpy.typing import NDArray
from torch import nn

from ostraka.common.datasets import Dataset, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.mechanism import DpTtac, GnMax, Recipe, Ttac
from ostraka.common.rpc import call_error, join, split
from ostraka.common.sharing.shares import expand
from ostraka.common.task import infer_task, load_task, write_task
from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, training_pb2, training_pb2_grpc
from ostraka.services.journal.journal import Journal
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.assignment import assign
from ostraka.services.teachers.config import TrainingSection
from ostraka.services.teachers.joint_training import JointTeachers, RoundInput, first_parameters
from ostraka.services.teachers.nets import Networks
from ostraka.services.teachers.options import Together
from ostraka.services.teachers.preparation import Prepared, prepare
from ostraka.services.training.training_server import running
from tests.fair_clock import HANGS_S
from tests.services.process import READY_S
from tests.services.wire import Caller, Federation, Stop, participant, scheduled

FEATURES, CLASSES, RECORDS = 6, 3, 90
PARAMETERS = (FEATURES + 1) * CLASSES
RECIPE = Recipe(model="logistic", parameters=PARAMETERS, steps=3, batch_size=8, learning_rate=0.2, decay=0.9)
BY_RECORD = DpTtac(recipe=RECIPE, radius=1.0, sigma=20.0)
BY_PARTY = DpTtac(recipe=RECIPE, clip="party", radius=0.5, sigma=20.0)
PLAIN = Ttac(recipe=RECIPE)


def records_folder(folder: Path) -> Path:
    """Make a folder with a task and records of it."""
    random = np.random.default_rng(3)
    y = np.arange(RECORDS) % CLASSES
    data = from_arrays(random.normal(size=(RECORDS, FEATURES)) + y[:, None], y)
    write_task(infer_task(data, "columns"), folder / "task.toml")
    save(data, folder / "records.npz")
    return folder


@dataclass
class Sent:
    """One average as it is sent; fields that are not given are correct."""

    plan: bytes
    grant: common_pb2.SignedEntry
    ticket: common_pb2.SignedEntry | None
    theta: NDArray[np.float32] = field(default_factory=lambda: average(1))
    c: NDArray[np.float32] = field(default_factory=lambda: average(2))
    round: int = 0
    counted: int | None = None
    data: bytes | None = None

    def messages(self) -> Iterator[training_pb2.TrainRequest]:
        whole = np.concatenate([self.theta, self.c]).astype("<f4").tobytes()
        header = training_pb2.TrainHeader(
            plan=self.plan,
            grant=self.grant,
            ticket=self.ticket,
            round=self.round,
            counted=self.counted,
            sha256=hashlib.sha256(whole).digest(),
        )
        yield training_pb2.TrainRequest(header=header)
        sent = whole if self.data is None else self.data
        yield from (training_pb2.TrainRequest(chunk=chunk) for chunk in split(sent))

    @property
    def as_round(self) -> RoundInput:
        return RoundInput(self.theta, self.c, self.round)


def average(seed: int) -> NDArray[np.float32]:
    return np.random.default_rng(seed).normal(scale=0.3, size=PARAMETERS).astype(np.float32)


@dataclass
class Lead:
    """A party that leads, on its channel to the party under test."""

    caller: Caller
    together: str

    @property
    def stub(self) -> training_pb2_grpc.TrainingStub:
        return training_pb2_grpc.TrainingStub(self.caller.channel)

    def participant(self, site: str, **changes: Any) -> common_pb2.Participant:
        known = participant(site)
        known.together = self.together
        known.MergeFrom(common_pb2.Participant(**changes))
        return known

    def grant(self, **changes: Any) -> common_pb2.SignedEntry:
        everyone = [self.participant(site) for site in self.caller.federation.plan.parties]
        return self.caller.grant(**{"participants": everyone, **changes})

    def ticket(
        self,
        batch: int,
        session_id: str = "session",
        *,
        size: int = 1,
        participant: common_pb2.Participant | None = None,
    ) -> common_pb2.SignedEntry:
        schedule = [scheduled(participant or self.participant("athens"))]
        return self.caller.ticket(batch, size, session_id=session_id, schedule=schedule)

    def round(self, batch: int, session_id: str = "session", **changes: Any) -> Sent:
        plan = self.caller.federation.plan.serialize()
        grant = self.grant(session_id=session_id)
        return Sent(plan, grant, self.ticket(batch, session_id), **changes)

    def last(self, session_id: str = "session", **changes: Any) -> Sent:
        return Sent(
            self.caller.federation.plan.serialize(), self.grant(session_id=session_id), None, **changes
        )

    def join(self, kind: str) -> tuple[training_pb2.JoinHeader, NDArray[np.float32]]:
        with _errors():
            first, *rest = self.stub.Join(training_pb2.JoinRequest(kind=kind), timeout=HANGS_S)
        chunks = (reply.chunk.data for reply in rest)
        data = join(chunks, expected=4 * first.header.parameters, sha256=first.header.sha256)
        return first.header, np.frombuffer(data, "<f4")

    def train(self, sent: Sent) -> party_pb2.VoteReplyHeader:
        with _errors():
            return self.stub.Train(sent.messages(), timeout=HANGS_S)

    def finish(self, sent: Sent) -> None:
        with _errors():
            self.stub.Finish(sent.messages(), timeout=HANGS_S)

    def update(self, batch: int, **changes: Any) -> NDArray[np.int64]:
        """Return the sum of both shares of the party's update, in lattice steps (d,)."""
        reply = self.train(self.round(batch, **changes))
        assert (reply.rows, reply.width) == (1, PARAMETERS)
        made = self.caller.federation
        theirs = made.guardian.share(batch, 1, PARAMETERS, made.ring)
        total = made.ring.lift(made.ring.add(expand(reply.seed, 1, PARAMETERS, made.ring), theirs))
        return total.ravel()


def refusal(lead: Lead, sent: Sent) -> ErrorCode:
    """Return the code that a party refuses a round with."""
    with pytest.raises(OstrakaError) as refused:
        lead.train(sent)
    return refused.value.code


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except grpc.RpcError as exc:
        raise call_error(exc) from exc


@dataclass
class Training:
    """A federation whose party athens learns together with others, led by thebes."""

    made: Federation
    together: Together
    trained: list[Ensemble] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    steps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def mechanism(self) -> Ttac | DpTtac:
        mechanism = self.made.plan.mechanism
        assert isinstance(mechanism, Ttac | DpTtac)
        return mechanism

    def prepared(self, **changes: Any) -> Prepared:
        task = load_task(self.made.party / "task.toml")
        section = TrainingSection(**{"teachers": 3, "model": "logistic", "seed": 5, **changes})
        records = task.load(self.made.party / "records.npz")
        return prepare(records, task, section, seed=section.seed, together=self.together)

    @property
    def data(self) -> list[str]:
        """The option that names the party's records."""
        return ["--data", str(self.made.party / "records.npz")]

    @property
    def records(self) -> Dataset:
        return load_task(self.made.party / "task.toml").load(self.made.party / "records.npz")

    def sort_by_label(self) -> None:
        """Give every teacher records of one class."""
        y = np.empty(RECORDS, np.int64)
        for label, rows in enumerate(assign(self.records, TrainingSection(teachers=CLASSES), 5).slices):
            y[rows] = label
        save(from_arrays(self.records.X, y), self.made.party / "records.npz")

    def share_out_by_level(self) -> None:
        """Give every second record another consent level."""
        levels = tuple("low" if row % 2 else "high" for row in range(RECORDS))
        save(replace(self.records, consent=levels), self.made.party / "records.npz")

    def ask_for_labels(self) -> None:
        self.made.querier = self.made.issue("delos", Role.QUERY)
        self.made.replan(mechanism=GnMax(sigma=40.0), queries=10, batch_size=10)

    def networks(self, nets: Sequence[nn.Module]) -> Networks:
        return Networks.of("logistic", (FEATURES,), nets)

    def algorithm(self) -> JointTeachers:
        prepared = self.prepared()
        return JointTeachers(prepared.slices, "logistic", CLASSES, prepared.config, RECIPE)

    def untrained(self) -> NDArray[np.float32]:
        return first_parameters("logistic", (FEATURES,), CLASSES, 5)

    def expected(
        self, sent: Sent, variates: NDArray[np.float32] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        own = np.zeros((3, PARAMETERS), np.float32) if variates is None else variates
        return self.algorithm().update(self.mechanism, sent.as_round, own)

    @contextmanager
    def serving(self, lead: Credentials | None = None, **changes: Any) -> Iterator[Lead]:
        prepared = self.prepared(**changes)
        party = running(
            self.made.party,
            prepared,
            self.made.task,
            stop=self.made.stop,
            progress=lambda done, total: self.steps.append((done, total)),
            finished=self.finished,
        )
        with party as address, self.made.calling(address, lead) as caller:
            yield Lead(caller, self.together)

    def finished(self, ensemble: Ensemble) -> None:
        self.trained.append(ensemble)
        self.ended.set()

    @contextmanager
    def process(self, start: Start) -> Iterator[tuple[Child, Lead]]:
        """Run the party as `ostraka party train --training` runs it."""
        ready = self.made.root / "ready.json"
        ready.unlink(missing_ok=True)
        options: dict[str, object] = {"site": self.made.party, "training": self.together, "ready-file": ready}
        options |= {"teachers": 3, "model": "logistic", "seed": 5}
        command = ["party", "train", *self.data]
        command += [str(word) for name, value in options.items() for word in (f"--{name}", value)]
        with Supervisor(self.made.root / "logs", start=start) as processes:
            child = processes.start(ChildCommand("party", command))
            with self.made.calling(processes.wait_ready(child, ready, READY_S)) as caller:
                yield child, Lead(caller, self.together)

    def journaled(self) -> int:
        with Journal(self.made.party / "journal.db") as journal:
            return len(list(journal.receipts()))


def training(made: Federation, together: Together, mechanism: Ttac | DpTtac) -> Training:
    made.querier = made.issue("thebes", Role.PARTY)
    made.stop = Stop()
    made.replan(mechanism=mechanism, queries=4, batch_size=1)
    return Training(made, together)
