"""The peers of an answering party, over real mTLS: a guardian that keeps shares, and a querying party."""

import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from numpy.typing import NDArray

from ostraka.common.clock import Clock, ManualClock, SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import Binary, GnMax
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import sign_list
from ostraka.common.rpc import BoundServer, call_error, join, make_server, open_channel, peer_identity, split
from ostraka.common.rpc.shares import read_stream, read_whole
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import expand
from ostraka.common.task import Task, load_task
from ostraka.common.wire.contexts import AUDIT_CONTEXT, GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, guardian_pb2_grpc, party_pb2, party_pb2_grpc
from ostraka.services.serving.server import running
from tests.fair_clock import HANGS_S
from tests.signed_lists import shown

FEDERATION = "attica"
DAY_S = 86400
ANYWHERE = "127.0.0.1:0"
GUARDIAN_ROLES = {
    "/ostraka.v1.Guardian/Register": frozenset({Role.PARTY}),
    "/ostraka.v1.Guardian/Reconcile": frozenset({Role.PARTY}),
    "/ostraka.v1.Guardian/RecordEvaluation": frozenset({Role.PARTY}),
    "/ostraka.v1.Guardian/SubmitBallots": frozenset({Role.PARTY}),
    "/ostraka.v1.Guardian/SubmitBallotsWhole": frozenset({Role.PARTY}),
}


class Guardian(guardian_pb2_grpc.GuardianServicer):
    """Keeps what parties send it; acknowledges with signed heads of growing sequence."""

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials
        self.signer = credentials
        self.manifests: list[common_pb2.Signed] = []
        self.submissions: list[tuple[str, int, str, bytes]] = []
        self.kept_heads: list[common_pb2.AuditHead] = []
        self.revocations = b""
        self.known_revocations: list[int] = []
        self.receipts: list[common_pb2.Signed] = []
        self.on_receipts: Callable[[], object] = lambda: None
        self.refuses_receipts: OstrakaError | None = None
        self.epoch = self.reconciled_epoch = 0
        self.refusal: OstrakaError | None = None
        self.evaluated: list[tuple[str, int, str]] = []
        self.refuses_evaluations: OstrakaError | None = None
        self.on_share: Callable[[], object] = lambda: None
        self.alter_head: Callable[[common_pb2.AuditHead], object] = lambda _: None
        self.sequence = 0
        self.ring_bits = 64
        self.address = ANYWHERE
        self._bound: BoundServer | None = None

    def start(self, *, insecure: bool = False) -> None:
        self._bound = make_server(
            self.credentials,
            self.address,
            [lambda server: guardian_pb2_grpc.add_GuardianServicer_to_server(self, server)],
            GUARDIAN_ROLES,
            SystemClock(),
            insecure=insecure,
        )
        self.address = self._bound.address
        self._bound.server.start()

    @property
    def is_up(self) -> bool:
        return self._bound is not None

    def stop(self) -> None:
        if self._bound is not None:
            self._bound.server.stop(None).wait()
            self._bound = None

    def restore(self) -> None:
        """Continue from an empty backup."""
        self.sequence, self.epoch = 0, self.epoch + 1

    def share(self, batch_id: int, rows: int, width: int, ring: Ring) -> NDArray[np.unsignedinteger]:
        sent = {data for _, batch, _, data in self.submissions if batch == batch_id}
        assert len(sent) == 1
        return ring.from_bytes(sent.pop(), rows, width)

    def Register(  # noqa: N802
        self, request: guardian_pb2.RegisterRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.RegisterReply:
        self.manifests.append(request.manifest)
        self.kept_heads.append(request.kept_head)
        self.known_revocations.append(request.revocations)
        forgot = self.reconciled_epoch < self.epoch
        return guardian_pb2.RegisterReply(
            audit_head=self._head(), epoch=self.epoch, reconcile=forgot, revocations=self.revocations
        )

    def Reconcile(  # noqa: N802
        self, request_iterator: Iterator[guardian_pb2.ReconcileRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.ReconcileReply:
        received = [request.receipts for request in request_iterator]
        if self.refuses_receipts is not None:
            raise self.refuses_receipts
        self.receipts += received
        self.reconciled_epoch = self.epoch
        self.on_receipts()
        return guardian_pb2.ReconcileReply(audit_head=self._head(), epoch=self.epoch)

    def RecordEvaluation(  # noqa: N802
        self, request: guardian_pb2.RecordEvaluationRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.RecordEvaluationReply:
        if self.refuses_evaluations is not None:
            raise self.refuses_evaluations
        self.evaluated.append((request.session_id, request.batch_id, peer_identity(context).site))
        return guardian_pb2.RecordEvaluationReply(audit_head=self._head())

    def SubmitBallots(  # noqa: N802
        self, request_iterator: Iterator[guardian_pb2.SubmitBallotsRequest], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        return self._take_share(*read_stream(request_iterator), context)

    def SubmitBallotsWhole(  # noqa: N802
        self, request: guardian_pb2.SubmitBallotsWholeRequest, context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        return self._take_share(*read_whole(request), context)

    def _take_share(
        self, header: guardian_pb2.BallotsHeader, chunks: Iterable[bytes], context: grpc.ServicerContext
    ) -> guardian_pb2.SubmitBallotsReply:
        expected = header.rows * header.width * self.ring_bits // 8
        data = join(chunks, expected=expected, sha256=header.sha256)
        party = peer_identity(context).site
        self.on_share()
        self.submissions.append((header.session_id, header.batch_id, party, data))
        if self.refusal is not None:
            raise self.refusal
        return guardian_pb2.SubmitBallotsReply(audit_head=self._head())

    def _head(self) -> common_pb2.AuditHead:
        self.sequence += 1
        digest = hashlib.sha256(str(self.sequence).encode()).digest()
        signed = self.signer.sign(AUDIT_CONTEXT, self.sequence.to_bytes(8, "big") + digest)
        head = common_pb2.AuditHead(sequence=self.sequence, hash=digest, signed=signed)
        self.alter_head(head)
        return head


class Stop(threading.Event):
    """What a party waits on between attempts; runs `instead` in place of waiting."""

    def __init__(self, instead: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.instead = instead

    def wait(self, timeout: float | None = None) -> bool:
        self.instead()
        return self.is_set()

    def pause(self) -> None:
        super().wait(0.2)


@dataclass
class Federation:
    """Certificates, a running guardian, one party's folder and a querying party."""

    root: Path
    guardian: Guardian
    party: Path
    querier: Credentials
    ca: CertificateAuthority
    task: Task
    plan: Plan
    stop: Stop = field(default_factory=Stop)
    insecure: bool = False
    policy: dict[str, object] = field(default_factory=dict)

    @cached_property
    def ring(self) -> Ring:
        return Ring(self.plan.ring_bits)

    @contextmanager
    def serving(self, clock: Clock | None = None) -> Iterator["Caller"]:
        party = running(self.party, stop=self.stop, clock=clock, insecure=self.insecure)
        with party as address, self.calling(address) as caller:
            yield caller

    @contextmanager
    def calling(self, address: str, credentials: Credentials | None = None) -> Iterator["Caller"]:
        expected = Identity(FEDERATION, "athens", Role.PARTY)
        own = credentials or self.querier
        with open_channel(own, address, expected, insecure=self.insecure) as channel:
            yield Caller(self, channel, address)

    def bring_guardian_back(self) -> None:
        if not self.guardian.is_up:
            self.guardian.start()
        self.stop.pause()

    def issue(self, site: str, role: Role, federation: str = FEDERATION) -> Credentials:
        folder = self.root / f"{federation}-{site}-{role}"
        folder.mkdir()
        return self.ca.issue(Identity(federation, site, role), folder, yesterday())

    def set_policy(self, **values: object) -> None:
        """Set these keys of table [policy]; keys set earlier stay."""
        self.policy |= values
        file = self.party / "site.toml"
        before, _, table = file.read_text().partition("\n[policy]\n")
        file.write_text(before + "".join(table.partition("\n[")[1:]))
        self.set_table("policy", **self.policy)

    def set_table(self, name: str, **values: object) -> None:
        with (self.party / "site.toml").open("a") as file:
            file.write(f"\n[{name}]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in values.items()))

    def replan(self, **changes: object) -> None:
        self.plan = Plan(**(dict(self.plan) | changes))
        self.guardian.ring_bits = self.plan.ring_bits

    def journal_bytes(self) -> bytes:
        return b"".join(path.read_bytes() for path in self.party.glob("journal.db*"))


@dataclass
class Ask:
    """One batch as requested; fields that are not given are correct. Plan and grant may be only `named`."""

    features: NDArray[np.float32]
    plan: bytes
    grant: common_pb2.SignedEntry
    ticket: common_pb2.SignedEntry
    rows: int | None = None
    data: bytes | None = None
    sha256: bytes | None = None
    named: bool = False

    def messages(self) -> Iterator[party_pb2.VoteRequest]:
        data = self.features.astype("<f4").tobytes() if self.data is None else self.data
        known = hashlib.sha256(self.grant.signed.payload).digest()
        session = {"grant_sha256": known} if self.named else {"plan": self.plan, "grant": self.grant}
        header = party_pb2.VoteHeader(
            **session,
            ticket=self.ticket,
            rows=len(self.features) if self.rows is None else self.rows,
            columns=self.features.shape[1],
            sha256=self.sha256 or hashlib.sha256(data).digest(),
        )
        yield party_pb2.VoteRequest(header=header)
        yield from (party_pb2.VoteRequest(chunk=chunk) for chunk in split(data))


@dataclass
class Caller:
    """A querying party on its channel to the party."""

    federation: Federation
    channel: grpc.Channel
    address: str

    def participants(self) -> list[common_pb2.Participant]:
        """Return the plan's parties; in a sum over records, their teachers take no part."""
        plan = self.federation.plan
        teachers = 0 if plan.mechanism.sums_records else TEACHERS
        return [participant(site, teachers) for site in plan.parties]

    def grant(self, signer: Credentials | None = None, **changes: object) -> common_pb2.SignedEntry:
        """Return this party's view of the grant, in which it is the first participant."""
        return shown(self.whole_grant(signer, **changes))

    def whole_grant(self, signer: Credentials | None = None, **changes: object) -> common_pb2.SignedList:
        plan, now = self.federation.plan, int(SystemClock().now())
        guardian = self.federation.guardian.credentials
        fields: dict[str, object] = {
            "session_id": "session",
            "plan_digest": hashlib.sha256(plan.serialize()).digest(),
            "querier": self.federation.querier.identity.uri,
            "key_id": hashlib.sha256((signer or guardian).signing_public_key).digest(),
            "protocol_version": PROTOCOL_VERSION,
            "ring_bits": plan.ring_bits,
            "participants": self.participants(),
            "max_batch": plan.batch_size,
            "max_queries": plan.queries,
            "not_before_unix_s": now,
            "expires_unix_s": now + 3600,
            "allowed_skew_s": 60,
        }
        grant = common_pb2.Grant(**(fields | changes))  # type: ignore[arg-type]
        grant.teachers = sum(known.teachers for known in grant.participants)
        return sign_list(signer or guardian, GRANT_CONTEXT, grant)

    def ticket(self, batch_id: int, size: int, **changes: Any) -> common_pb2.SignedEntry:
        """Return this party's view of `whole_ticket`, in which it is scheduled first."""
        return shown(self.whole_ticket(batch_id, size, **changes))

    def whole_ticket(
        self,
        batch_id: int,
        size: int,
        session_id: str = "session",
        schedule: Sequence[common_pb2.Schedule] | None = None,
        signer: Credentials | None = None,
    ) -> common_pb2.SignedList:
        everyone = [scheduled(one) for one in self.participants()]
        ticket = common_pb2.Ticket(
            session_id=session_id,
            batch_id=batch_id,
            size=size,
            schedule=everyone if schedule is None else schedule,
        )
        return sign_list(signer or self.federation.guardian.credentials, TICKET_CONTEXT, ticket)

    def ask(self, features: NDArray[np.float32], batch_id: int = 1) -> Ask:
        ticket = self.ticket(batch_id, len(features))
        return Ask(features, self.federation.plan.serialize(), self.grant(), ticket)

    def vote(self, ask: Ask) -> party_pb2.VoteReplyHeader:
        try:
            (reply,) = party_pb2_grpc.PartyStub(self.channel).Vote(ask.messages(), timeout=HANGS_S)
        except grpc.RpcError as exc:
            raise call_error(exc) from exc
        assert isinstance(reply, party_pb2.VoteReply)
        return reply.header

    def ballots(self, reply: party_pb2.VoteReplyHeader, batch_id: int = 1) -> NDArray[np.float64]:
        """Return the sum of both shares, in votes."""
        ring = self.federation.ring
        theirs = self.federation.guardian.share(batch_id, reply.rows, reply.width, ring)
        total = ring.add(expand(reply.seed, reply.rows, reply.width, ring), theirs)
        return ring.lift(total) / 2**16


def yesterday() -> ManualClock:
    return ManualClock(SystemClock().now() - DAY_S)


TEACHERS = 3


def participant(site: str, teachers: int = TEACHERS) -> common_pb2.Participant:
    cohort = common_pb2.Cohort(groups=["all"], teachers=teachers, weight=VOTE, copies=[1])
    return common_pb2.Participant(site=site, teachers=teachers, max_votes_per_person=1, cohorts=[cohort])


def scheduled(who: common_pb2.Participant, *queries: bytes) -> common_pb2.Schedule:
    """Return a schedule with the queries of each cohort; every cohort votes on all if none are given."""
    return common_pb2.Schedule(participant=who, queries=queries or [b""] * len(who.cohorts))


@contextmanager
def federation(root: Path, trained: Path) -> Iterator[Federation]:
    """Yield a federation in `root` whose party athens has the task and teachers of folder `trained`."""
    ca = CertificateAuthority.create(FEDERATION, yesterday())
    party = root / "athens"
    shutil.copytree(trained, party)
    ca.issue(Identity(FEDERATION, "athens", Role.PARTY), party, yesterday())
    task = load_task(party / "task.toml")
    plan = Plan(
        nonce=bytes(16),
        task_digest=task.digest,
        classes=len(task.classes),
        multi_label=task.multi_label,
        mechanism=Binary(sigma=10.0) if task.multi_label else GnMax(sigma=40.0),
        parties=("athens", "sparta", "thebes"),
        quorum=2,
        queries=5000,
        batch_size=2000,
    )
    made = Federation(root, None, party, None, ca, task, plan)  # type: ignore[arg-type]
    made.querier = made.issue("delphi", Role.QUERY)
    made.guardian = Guardian(made.issue("guardian", Role.GUARDIAN))  # type: ignore[abstract]
    made.guardian.start()
    write_site(
        SiteConfig(
            federation=FEDERATION,
            site="athens",
            role="party",
            listen=ANYWHERE,
            guardian=made.guardian.address,
            folder=party,
        )
    )
    try:
        yield made
    finally:
        made.guardian.stop()
