"""The federation of tests/client/federation.py with a real guardian, its ledger and its policy; no noise."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copy, copytree
from typing import Any, cast

import grpc
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.identity import Role
from ostraka.common.rpc import call_error
from ostraka.common.sharing.ring import RingArray
from ostraka.common.task import load_task
from ostraka.common.verified.parts import AnyPart
from ostraka.common.verified.prover import Prover
from ostraka.guardian.serving.service import GuardianService
from ostraka.protos.ostraka.v1 import guardian_pb2
from ostraka.services.voting.submission import GuardianShare
from tests.client.federation import TEACHERS, FakeGuardian, FakeParty, Federation, Key, Served, lay_out, serve
from tests.guardian import federation as members
from tests.guardian.noise.silent import Silent

FILTERS: dict[str, dict[str, Any]] = {"a": {"order": 3.5}, "b": {"filter": "gaussian"}}
"""Settings of budgets, so that epsilons are stated at several orders, and by a Gaussian filter."""
POLICY = "min_sigma = 0.5\nmin_quorum = 2\nfreeze_after_s = 1.0\n"


@dataclass
class Host:
    """One guardian, with its members, for the tests of a module; each test has its own session.

    Attributes:
        root: the querying party's site folder and its pool, as `lay_out` makes them, and the credentials.
        told: the records and hooks of the running test.
    """

    root: Path
    told: "RealGuardian" = field(init=False)
    clock: ManualClock = field(default_factory=lambda: ManualClock(SystemClock().now()))
    calls: members.Calls | None = None
    _running: ExitStack = field(default_factory=ExitStack)

    def __post_init__(self) -> None:
        (self.root / "members").mkdir()
        self.made = members.Federation(self.root / "members", self.clock, POLICY)
        self.made.issue("query", Role.QUERY, self.root / "query")
        lay_out(self.root, queries=10)

    def start(self) -> members.Calls:
        """Start the server if it is not running, and register every party."""
        if self.calls is None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr("ostraka.guardian.serving.server.GuardianService", watched(self))
                self.calls = self._running.enter_context(self.made.guardian(Silent()))
            digest = load_task(self.root / "query" / "task.toml").digest
            for site in members.PARTIES:
                groups = [members.group("all", teachers=TEACHERS)]
                self.calls.register(site, task_digest=digest, groups=groups)
                self.calls.budget(site, 1e6, **FILTERS.get(site, {}))
        return self.calls

    def stop(self) -> None:
        self._running.close()
        self.calls = None


@dataclass
class RealGuardian:
    """One test's view of the guardian: the hooks and records of FakeGuardian that tests of both use."""

    host: Host
    after_release: Callable[[], None] = lambda: None
    plans: set[bytes] = field(default_factory=set)
    opened: list[guardian_pb2.OpenBatchRequest] = field(default_factory=list)
    frozen: dict[Key, list[str]] = field(default_factory=dict)
    sums: dict[Key, list[bytes]] = field(default_factory=dict)
    answers: dict[Key, list[guardian_pb2.Answer]] = field(default_factory=dict)
    closed: list[str] = field(default_factory=list)

    @property
    def server(self) -> "RealGuardian":
        return self

    @property
    def address(self) -> str:
        return self.host.start().address

    def start(self) -> None:
        self.host.start()

    def stop(self, grace: float | None) -> "RealGuardian":
        """Leave the host to the next test."""
        return self

    def wait(self) -> None:
        """Return at once: there is nothing to wait for."""

    def receive(self, site: str, key: Key, share: RingArray) -> None:
        """Submit a party's share as that party."""
        try:
            self.host.start().submit(site, *key, share)
        except grpc.RpcError as error:
            raise call_error(error) from error

    def receive_verified(
        self, site: str, share: GuardianShare, prover: Prover, parts: tuple[AnyPart, ...]
    ) -> None:
        """Submit a party's verified ballots as that party, and prove them."""
        stub = self.host.start().stub(site, Role.PARTY)
        try:
            challenge = stub.SubmitBallotsWhole(share.message()).challenge
            stub.SubmitProofWhole(share.proof_message(prover.prove(challenge)))
        except grpc.RpcError as error:
            raise call_error(error) from error


def watched(host: Host) -> type[GuardianService]:
    """Return the guardian's service, which notifies `host` of every call before or after it acts."""

    class Watched(GuardianService):
        def OpenSession(self, request: Any, context: Any) -> Any:  # noqa: N802
            host.told.plans.add(request.plan)
            return super().OpenSession(request, context)

        def OpenBatch(self, request: Any, context: Any) -> Any:  # noqa: N802
            host.told.opened.append(request)
            return super().OpenBatch(request, context)

        def Prepare(self, request: Any, context: Any) -> Any:  # noqa: N802
            reply = super().Prepare(request, context)
            if reply.frozen:
                host.told.frozen[request.session_id, request.batch_id] = list(reply.frozen)
            return reply

        def ReleaseWhole(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
            key = (request.header.session_id, request.header.batch_id)
            host.told.sums.setdefault(key, []).append(request.data)
            replies = list(super().ReleaseWhole(request, context))
            host.told.answers[key] = [answer for reply in replies for answer in reply.answers]
            host.told.after_release()
            yield from replies

        def CloseSession(self, request: Any, context: Any) -> Any:  # noqa: N802
            host.told.closed.append(request.session_id)
            return super().CloseSession(request, context)

    return Watched


def build(root: Path, host: Host) -> Federation:
    """Start it with a pool of ten queries of classes 0, 1, 2, 0, ..."""
    for name in ("query", "pool.npz"):
        part = host.root / name
        (copytree if part.is_dir() else copy)(part, root / name)
    host.told = guardian = RealGuardian(host)
    stand_in = cast(FakeGuardian, guardian)
    parties = {name: FakeParty(name, stand_in) for name in members.PARTIES}

    def make(name: str) -> Served:
        if name == "guardian":
            return guardian
        return serve(parties[name], "Party", host.made.credentials[name, Role.PARTY])

    federation = Federation(root, stand_in, parties, make, sleep=host.clock.advance)
    federation.start_all()
    return federation
