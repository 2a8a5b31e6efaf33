"""A small federation on loopback: a guardian and parties that follow the protocol, over real mTLS."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np

from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import NoiseCluster, RandRes, RandResLabels
from ostraka.common.plan import plan as common_plan
from ostraka.common.plan.plan import digest
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.plan.signed_lists import sign_list
from ostraka.common.rpc import BoundServer, join, make_server
from ostraka.common.rpc.shares import read_stream, read_whole
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import decode
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import fresh_seed, split
from ostraka.common.task import infer_task, write_task
from ostraka.common.verified.parts import AnyPart, context_of, join_ballots, parts_of
from ostraka.common.verified.prover import Prover
from ostraka.common.verified.verifier import Submission, count_shares
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, party_pb2
from ostraka.protos.ostraka.v1.guardian_pb2_grpc import add_GuardianServicer_to_server
from ostraka.protos.ostraka.v1.party_pb2_grpc import add_PartyServicer_to_server
from ostraka.services.hosting.records import Records
from ostraka.services.voting.submission import GuardianShare
from ostraka.services.voting.voting import Content
from tests.client.answering import Answering
from tests.client.tallying import Tallying
from tests.guardian.federation import FEDERATION
from tests.signed_lists import own_ticket

CLASSES = ("ant", "bee", "cat")
TEACHERS, RECORDS = 4, 100
DAY_S = 86_400.0
Key = tuple[str, int]
GUARDIAN_METHODS = (
    *("Plan", "OpenSession", "OpenBatch", "Prepare", "Release", "ReleaseWhole", "SettleBatch"),
    *("CloseSession", "VerifyBallotsWhole", "BeginTally", "GarbleTally", "CompareTally", "OpenCheck"),
)
PARTY_METHODS = ("Vote", "Sum", "Begin", "Garble", "Evaluate", "Compare")


def refuse(code: ErrorCode, **details: str) -> OstrakaError:
    return OstrakaError(code, f"Refused with {code}.", **details)


@dataclass
class FakeGuardian(Tallying):
    """Answers without noise with the class (or the bit of each label) that all votes agree on, else nothing.

    Hooks raise the refusal that a test wants: `on_batch(request)`, `before_release()`, `after_release()`.
    """

    credentials: Credentials
    now: Callable[[], float] = SystemClock().now
    grant_s: int = 3600
    freeze_s: float = 3600.0
    polls_until_freeze: int = 2
    on_batch: Callable[[guardian_pb2.OpenBatchRequest], None] = lambda _: None
    fits: Callable[[common_plan.Plan], int | None] = lambda _: None
    on_prepare: Callable[[guardian_pb2.PrepareRequest], None] = lambda _: None
    before_release: Callable[[], None] = lambda: None
    after_release: Callable[[], None] = lambda: None
    alter_grant: Callable[[common_pb2.Grant], None] = lambda _: None
    alter_ticket: Callable[[common_pb2.Ticket], None] = lambda _: None
    alter_frozen: Callable[[list[str]], list[str]] = lambda sites: sites
    refused: frozenset[str] = frozenset()
    alter_answers: Callable[[list[guardian_pb2.Answer]], list[guardian_pb2.Answer]] = lambda answers: answers
    plans: dict[bytes, tuple[str, common_plan.Plan, common_pb2.SignedList]] = field(default_factory=dict)
    opened: list[guardian_pb2.OpenBatchRequest] = field(default_factory=list)
    tickets: dict[Key, common_pb2.Ticket] = field(default_factory=dict)
    shares: dict[Key, dict[str, RingArray]] = field(default_factory=dict)
    polls: dict[Key, int] = field(default_factory=dict)
    frozen: dict[Key, list[str]] = field(default_factory=dict)
    sums: dict[Key, list[bytes]] = field(default_factory=dict)
    histograms: dict[Key, Any] = field(default_factory=dict)
    scores: dict[Key, Any] = field(default_factory=dict)
    answers: dict[Key, list[guardian_pb2.Answer]] = field(default_factory=dict)
    dead: set[Key] = field(default_factory=set)
    verified: list[Key] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)

    def Plan(self, request: guardian_pb2.PlanRequest, context: Any) -> Any:  # noqa: N802
        """Answer how many queries fit by the hook `fits`; by default like a guardian that does not say."""
        return guardian_pb2.PlanReply(fits=self.fits(common_plan.Plan.parse(request.plan)))

    def OpenSession(self, request: guardian_pb2.OpenSessionRequest, context: Any) -> Any:  # noqa: N802
        if request.plan not in self.plans:
            plan = common_plan.Plan.parse(request.plan)
            grant = common_pb2.Grant(
                session_id=f"s{len(self.plans)}",
                plan_digest=digest(request.plan),
                querier=Identity(FEDERATION, "query", Role.QUERY).uri,
                protocol_version=PROTOCOL_VERSION,
                ring_bits=plan.ring_bits,
                participants=[_participant(site) for site in plan.parties],
                max_batch=plan.batch_size,
                max_queries=plan.queries,
                not_before_unix_s=int(self.now()),
                expires_unix_s=int(self.now()) + self.grant_s,
                enforce="worst_case",
                bound="worst_case",
            )
            self.alter_grant(grant)
            grant.teachers = sum(participant.teachers for participant in grant.participants)
            signed = sign_list(self.credentials, GRANT_CONTEXT, grant)
            self.plans[request.plan] = (grant.session_id, plan, signed)
        return guardian_pb2.OpenSessionReply(grant=self.plans[request.plan][2])

    def OpenBatch(self, request: guardian_pb2.OpenBatchRequest, context: Any) -> Any:  # noqa: N802
        self.on_batch(request)
        self.opened.append(request)
        plan = self._plan(request.session_id)
        left = plan.queries - self._released(request.session_id)
        if request.size > left:
            raise refuse(ErrorCode.BATCH_TOO_LARGE, left=str(left))
        ticket = common_pb2.Ticket(
            session_id=request.session_id,
            batch_id=request.batch_id,
            size=request.size,
            freeze_unix_ms=int(1000 * (self.now() + self.freeze_s)),
            expires_unix_ms=int(1000 * (self.now() + DAY_S)),
            schedule=[
                common_pb2.Schedule(participant=_participant(site), queries=[b""])
                for site in plan.parties
                if site not in request.unavailable
            ],
        )
        self.alter_ticket(ticket)
        key = (request.session_id, request.batch_id)
        assert key not in self.tickets
        self.tickets[key] = ticket
        self.shares[key] = {}
        signed = sign_list(self.credentials, TICKET_CONTEXT, ticket)
        return guardian_pb2.OpenBatchReply(ticket=signed)

    def Prepare(self, request: guardian_pb2.PrepareRequest, context: Any) -> Any:  # noqa: N802
        self.on_prepare(request)
        key = (request.session_id, request.batch_id)
        both = (set(request.parties) & set(self.shares[key])) - self.refused
        scheduled = {schedule.participant.site for schedule in self.tickets[key].schedule} - self.refused
        self.polls[key] = self.polls.get(key, 0) + 1
        if both != scheduled and self.polls[key] < self.polls_until_freeze:
            return guardian_pb2.PrepareReply(retry_after_ms=1)
        if len(both) < self._plan(request.session_id).quorum:
            self.dead.add(key)
            raise refuse(ErrorCode.QUORUM_LOST)
        self.frozen[key] = self.alter_frozen(sorted(both))
        return guardian_pb2.PrepareReply(frozen=self.frozen[key], refused=sorted(self.refused))

    def Release(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        yield from self._release(*read_stream(request_iterator))

    def ReleaseWhole(self, request: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        yield from self._release(*read_whole(request))

    def _release(self, header: Any, chunks: Iterable[bytes]) -> Iterator[Any]:
        key = (header.session_id, header.batch_id)
        ring = self._plan(header.session_id).modulus
        own = header.rows * header.width * ring.element_bytes
        sent = join(
            chunks,
            expected=own + header.rows * header.score_width * 4,
            sha256=header.sha256,
        )
        total = sent[:own]
        self.before_release()
        if key in self.dead:
            raise refuse(ErrorCode.BATCH_DEAD)
        self.sums.setdefault(key, []).append(sent)
        self.scores[key] = np.frombuffer(sent[own:], "<u4").reshape(header.rows, header.score_width)
        assert len(set(self.sums[key])) == 1, "two sums of one batch reveal a share"
        values = [
            ring.from_bytes(total, header.rows, header.width),
            *(self.shares[key][site] for site in self.frozen[key]),
        ]
        self.histograms[key] = counts = decode(ring.sum(values), ring)
        read = _label_answer if self._plan(header.session_id).multi_label else _class_answer
        unanimous = TEACHERS * len(self.frozen[key])
        self.answers[key] = self.alter_answers([read(row, unanimous) for row in counts])
        self.after_release()
        yield from (guardian_pb2.ReleaseReply(answers=[answer]) for answer in self.answers[key])

    def SettleBatch(self, request: guardian_pb2.SettleBatchRequest, context: Any) -> Any:  # noqa: N802
        key = (request.session_id, request.batch_id)
        if key not in self.answers:
            self.dead.add(key)
            return guardian_pb2.SettleBatchReply(released=False)
        return guardian_pb2.SettleBatchReply(released=True, answers=self.answers[key])

    def _released(self, session_id: str) -> int:
        return sum(len(answers) for (session, _), answers in self.answers.items() if session == session_id)

    def CloseSession(self, request: guardian_pb2.CloseSessionRequest, context: Any) -> Any:  # noqa: N802
        self.closed.append(request.session_id)
        return guardian_pb2.CloseSessionReply()

    def ReleasedUpdate(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def Register(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def Reconcile(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def Standing(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def RecordEvaluation(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def SubmitBallots(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def SubmitBallotsWhole(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def SubmitProof(self, request_iterator: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def SubmitProofWhole(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def AttestBallots(self, request: Any, context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def VerifyBallots(self, request_iterator: Iterator[Any], context: Any) -> Any:  # noqa: N802
        raise NotImplementedError

    def VerifyBallotsWhole(self, request: Any, context: Any) -> Any:  # noqa: N802
        """Accept everybody's ballots except those of `refused`: no proofs are made here."""
        self.verified.append((request.header.session_id, request.header.batch_id))
        assert all(party.share for party in request.parties)
        return guardian_pb2.VerifyBallotsReply(refused=sorted(self.refused))

    def receive(self, site: str, key: Key, share: RingArray) -> None:
        """Take a party's share of its ballots."""
        self.shares[key][site] = share

    def receive_verified(
        self, site: str, share: GuardianShare, prover: Prover, parts: tuple[AnyPart, ...]
    ) -> None:
        """Take a party's share of verified ballots; their proof is not checked here."""
        submission = Submission(share.data, prover.commitment, prover.blind_seed)
        shares = count_shares([part.layout for part in parts], submission)
        plan = self._plan(share.session_id)
        total = join_ballots(parts, shares, plan.modulus, (share.rows, share.width))
        self.receive(site, (share.session_id, share.batch_id), total)

    def half_of(self, key: Key) -> tuple[common_plan.Plan, RingArray]:
        return (plan := self._plan(key[0])), plan.modulus.sum(
            self.shares[key][site] for site in self.frozen[key]
        )

    def released(self, key: Key, answered: Any) -> None:
        plan = self._plan(key[0])
        if plan.multi_label:
            rows = np.reshape(answered, (-1, plan.classes))
            answers = [
                guardian_pb2.Answer(
                    answered=bool(row.any()),
                    answered_labels=np.packbits(row).tobytes(),
                    positive_labels=bytes(1),
                )
                for row in rows
            ]
        else:
            answers = [guardian_pb2.Answer(answered=bool(one)) for one in answered]
        self.answers[key] = answers

    def _plan(self, session_id: str) -> common_plan.Plan:
        return next(plan for known, plan, _ in self.plans.values() if known == session_id)


def _class_answer(counts: Any, unanimous: int) -> guardian_pb2.Answer:
    return guardian_pb2.Answer(answered=bool(counts.max() == unanimous), label=int(counts.argmax()))


def _label_answer(counts: Any, unanimous: int) -> guardian_pb2.Answer:
    positive = counts == unanimous
    answered = positive | (counts == 0)
    return guardian_pb2.Answer(
        answered=bool(answered.any()),
        answered_labels=np.packbits(answered).tobytes(),
        positive_labels=np.packbits(positive).tobytes(),
    )


@dataclass
class FakeParty(Answering):
    """Its teachers vote for the class in a query's first feature; a dissenting party's err on queries of 0.5.

    With several labels they say yes to those up to that class: one to all three of them. Its `records` answer
    requests for sums over records.
    """

    site: str = field(kw_only=False)
    guardian: FakeGuardian
    dissents: bool = False
    on_header: Callable[[party_pb2.VoteHeader], None] = lambda _: None
    on_vote: Callable[[common_pb2.Ticket], None] = lambda _: None
    alter_reply: Callable[[party_pb2.VoteReplyHeader], None] = lambda _: None
    submits: bool = True
    records: Records = field(default_factory=lambda: holding([], []))
    voted: list[Key] = field(default_factory=list)
    replies: dict[Key, bytes] = field(default_factory=dict)
    plans: dict[bytes, bytes] = field(default_factory=dict)

    def Vote(self, request_iterator: Iterator[Any], context: Any) -> Iterator[Any]:  # noqa: N802
        header, chunks = read_stream(request_iterator)
        self.on_header(header)
        plan = self._plan(header)
        data = join(chunks, expected=Content.size(header), sha256=header.sha256)
        ticket = own_ticket(header.ticket)
        self.on_vote(ticket)
        key = (ticket.session_id, ticket.batch_id)
        seed = self.replies.setdefault(key, fresh_seed())
        self.voted.append(key)
        if self.submits:
            counted = self._ballots(Content(data, header.members), header.rows, plan)
            self._submit(plan, ticket, counted, seed)
        width = plan.mechanism.width(plan.classes)
        reply = party_pb2.VoteReplyHeader(rows=header.rows, width=width, seed=seed)
        self.alter_reply(reply)
        yield party_pb2.VoteReply(header=reply)

    def Sum(self, request_iterator: Iterator[Any], context: Any) -> party_pb2.VoteReplyHeader:  # noqa: N802
        """Add up nothing."""
        header, chunks = read_stream(request_iterator)
        plan = self._plan(header)
        join(chunks, expected=header.size, sha256=header.sha256)
        ticket = own_ticket(header.ticket)
        seed = self.replies.setdefault((ticket.session_id, ticket.batch_id), fresh_seed())
        width = plan.mechanism.width(plan.classes)
        self._submit(plan, ticket, np.zeros((1, width)), seed)
        reply = party_pb2.VoteReplyHeader(rows=1, width=width, seed=seed)
        self.alter_reply(reply)
        return reply

    def _plan(self, header: party_pb2.VoteHeader | party_pb2.SumHeader) -> common_plan.Plan:
        """Return the plan that came with a grant; a plan named by its digest must have come before."""
        if header.plan:
            self.plans[digest(header.grant.signed.payload)] = header.plan
        elif header.grant_sha256 not in self.plans:
            raise refuse(ErrorCode.GRANT_UNKNOWN)
        return common_plan.Plan.parse(header.plan or self.plans[header.grant_sha256])

    def _submit(self, plan: common_plan.Plan, ticket: common_pb2.Ticket, votes: Any, seed: bytes) -> None:
        """Hand the guardian its share of ballots; the querying party's share is the seed's expansion."""
        key = (ticket.session_id, ticket.batch_id)
        if plan.ballots == "unverified":
            self.guardian.receive(self.site, key, split(votes, seed, plan.modulus))
            return
        (schedule,) = ticket.schedule
        parts = parts_of(plan, schedule.participant, read_schedule(schedule, ticket.size))
        layouts, counts = [part.layout for part in parts], [part.counts(votes) for part in parts]
        prover = Prover(layouts, counts, context_of(*key, self.site), seed, fresh_seed())
        rows, width = votes.shape
        share = GuardianShare(*key, rows, width, prover.guardian_share, prover)
        self.guardian.receive_verified(self.site, share, prover, parts)

    def _ballots(self, content: Content, queries: int, plan: common_plan.Plan) -> Any:
        X, everywhere = content.rows(queries), np.ones((1, queries), np.bool_)
        match plan.mechanism:
            case RandRes(epsilon=epsilon):
                return self.records.responses(X, everywhere, epsilon)
            case RandResLabels(epsilon=epsilon):
                return self.records.label_responses(X, everywhere, plan.labels, epsilon)
            case NoiseCluster() if content.members:
                return self.records.members(X, content.clusters(queries), everywhere)
        return plan.mechanism.ballot.count(self._votes(X[:, 0], plan), plan.classes)

    def errs(self) -> bool:
        return self.dissents

    def share(self, key: Key, values: RingArray) -> None:
        if self.submits:
            self.guardian.receive(self.site, key, values)

    def _votes(self, first: Any, plan: common_plan.Plan) -> Any:
        seen = np.where(first == 0.5, 1.0, first) if self.dissents else first
        classes = np.tile((seen * 2).astype(int), (TEACHERS, 1))
        asked = np.array(plan.labels or range(plan.classes))
        return (asked <= classes[..., None]) * 1.0 if plan.multi_label else classes


class Server(Protocol):
    def start(self) -> None: ...
    def stop(self, grace: float | None) -> Any: ...


class Served(Protocol):
    """A server, and its address once it has started."""

    @property
    def server(self) -> Server: ...
    @property
    def address(self) -> str: ...


@dataclass
class Federation:
    """Servers and folders of one test; `site` is the querying party's folder.

    `make` makes a member's server. `sleep` is how a run waits for the guardian.
    """

    root: Path
    guardian: FakeGuardian
    parties: dict[str, FakeParty]
    make: Callable[[str], Served]
    sleep: Callable[[float], None] = lambda _: None
    servers: dict[str, Server] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)

    @property
    def site(self) -> Path:
        return self.root / "query"

    @property
    def pool(self) -> Path:
        return self.root / "pool.npz"

    def stop(self, name: str) -> None:
        self.servers[name].stop(None)

    def start(self, name: str) -> None:
        """Restart a stopped server at a new address, and write it to the site's configuration."""
        bound = self.make(name)
        bound.server.start()
        self.servers[name] = bound.server
        self.addresses[name] = bound.address
        self.write_site()

    def start_all(self) -> None:
        self.addresses = dict.fromkeys((*self.parties, "guardian"), "127.0.0.1:1")
        for name in ("guardian", *self.parties):
            self.start(name)

    def write_site(self) -> None:
        parties = {name: self.addresses[name] for name in self.parties}
        site = SiteConfig(
            federation=FEDERATION,
            site="query",
            role="query",
            guardian=self.addresses["guardian"],
            parties=parties,
            folder=self.site,
        )
        write_site(site)

    def write_pool(self, first: list[float]) -> None:
        """Write queries whose class is 2 x their first feature (0, 0.5 or 1)."""
        save(_records(first, None), self.pool)


def holding(X: Any, y: Any) -> Records:
    features = np.reshape(X, (-1, 2)).astype(np.float32)
    first = np.zeros(len(y), np.int64)
    return Records(features, np.array(y, np.int64), first, len(CLASSES), first, features, features)


def build(
    root: Path,
    names: tuple[str, ...] = ("a", "b", "c"),
    queries: int = 10,
    *,
    multi_label: bool = False,
) -> Federation:
    """Start a federation whose pool has `queries` queries of classes 0, 1, 2, 0, ..."""
    lay_out(root, queries, multi_label=multi_label)
    clock = SystemClock()
    ca = CertificateAuthority.create(FEDERATION, clock)
    roles = {"guardian": Role.GUARDIAN, "query": Role.QUERY} | dict.fromkeys(names, Role.PARTY)
    issued = {}
    for name, role in roles.items():
        (root / name).mkdir(exist_ok=True)
        issued[name] = ca.issue(Identity(FEDERATION, name, role), root / name, clock)
    guardian = FakeGuardian(issued["guardian"], votes=TEACHERS * len(names))
    parties = {name: FakeParty(name, guardian) for name in names}

    def make(name: str) -> Served:
        if name == "guardian":
            return serve(guardian, "Guardian", issued[name])
        return serve(parties[name], "Party", issued[name])

    federation = Federation(root, guardian, parties, make)
    federation.start_all()
    return federation


def lay_out(root: Path, queries: int, *, multi_label: bool = False) -> None:
    """Write the querying party's task, and a pool of queries of classes 0, 1, 2, 0, ..., under `root`."""
    first = [(row % 3) / 2 for row in range(queries)]
    save(_records(first, None), root / "pool.npz")
    records = _records([0.0, 0.5, 1.0], np.tri(3, dtype=int) if multi_label else np.arange(3))
    (root / "query").mkdir(exist_ok=True)
    write_task(infer_task(records, "insects"), root / "query" / "task.toml")


def serve(servicer: Any, service: Literal["Guardian", "Party"], credentials: Credentials) -> BoundServer:
    """Make a server of one servicer, which only querying parties may call."""
    add: Any = {"Guardian": add_GuardianServicer_to_server, "Party": add_PartyServicer_to_server}[service]
    methods = {"Guardian": GUARDIAN_METHODS, "Party": PARTY_METHODS}[service]
    allowed = {f"/ostraka.v1.{service}/{method}": frozenset({Role.QUERY}) for method in methods}
    register = [lambda server: add(servicer, server)]
    return make_server(credentials, "127.0.0.1:0", register, allowed, SystemClock())


def _records(first: list[float], y: Any) -> Any:
    X = np.stack([np.asarray(first), np.linspace(0, 1, len(first))], axis=1)
    return from_arrays(X, y, columns=("first", "second"), classes=CLASSES)


def _participant(site: str) -> common_pb2.Participant:
    cohort = common_pb2.Cohort(groups=["all"], teachers=TEACHERS, weight=VOTE, copies=[1], records=[RECORDS])
    return common_pb2.Participant(
        site=site, teachers=TEACHERS, max_votes_per_person=1, cohorts=[cohort], head="linear"
    )
