"""A small federation with real certificates, for tests that talk to a real guardian on loopback."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import grpc
import numpy as np

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.mechanism import Confident, Mechanism
from ostraka.common.mechanism.message import mechanism_message
from ostraka.common.noise import ExactNoise
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc import call_error, open_channel
from ostraka.common.rpc.shares import stream_share
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.common.sharing.shares import split as split_shares
from ostraka.common.wire.contexts import MANIFEST_CONTEXT, RECEIPTS_CONTEXT
from ostraka.guardian.ledger import verify
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.noise import NoiseSource
from ostraka.guardian.serving.server import running
from ostraka.protos.ostraka.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    common_pb2,
    guardian_pb2,
    guardian_pb2_grpc,
)
from tests.signed_lists import grant_of, ticket_of

FEDERATION = "test"
TASK = bytes(range(32))
RING = Ring(64)
PARTIES = ("a", "b", "c")
TEACHERS = 10
T = TypeVar("T")


def refusal(call: Callable[[], Any], told: str = "") -> str:
    """Return the stable code that `call` is refused with; its message must contain `told`."""
    try:
        call()
    except grpc.RpcError as exc:
        error = call_error(exc)
        assert told in error.message, error.message
        return str(error.code)
    raise AssertionError("the call was not refused")


def plan(**changes: Any) -> Plan:
    """Return a Confident plan over three parties."""
    values: dict[str, Any] = {
        "nonce": b"n" * 16,
        "task_digest": TASK,
        "classes": 4,
        "mechanism": Confident(sigma1=2.0, sigma2=1.0, threshold=15.0),
        "parties": PARTIES,
        "quorum": 2,
        "queries": 40,
        "batch_size": 20,
        "ring_bits": 64,
        "fraction_bits": 16,
        "adjacency": "record",
    }
    return Plan(**values | changes)


def group(name: str, **changes: int) -> common_pb2.Group:
    """Return a group of a manifest; for separate teachers, unless changed."""
    return common_pb2.Group(name=name, **{"records": 100, "teachers": TEACHERS, "copies": 1} | changes)


def receipt(mechanism: Mechanism, /, **changes: Any) -> common_pb2.Receipt:
    """Return a party's receipt of the first batch of a session that the guardian lost."""
    fields: dict[str, Any] = {
        "session_id": "lost",
        "batch_id": 1,
        "group": "all",
        "mechanism": mechanism_message(mechanism),
        "classes": 4,
        "adjacency": "record",
        "queries": 1,
        "sensitivity": 1.0,
    }
    return common_pb2.Receipt(**fields | changes)


@dataclass
class Federation:
    """Folders of a federation, and calls of its members."""

    root: Path
    clock: Clock = field(default_factory=SystemClock)
    policy: str = 'enforce = "worst_case"\nmin_sigma = 0.5\nmin_quorum = 2\n'
    votes_may_tell: bool = False
    tampered: bool = False
    """Whether the test changes the ledger itself, so that it does not verify at the end."""

    def __post_init__(self) -> None:
        members = _members()
        self.ca = replace(members.ca, folder=self.root / "ca")
        self.credentials: dict[tuple[str, Role], Credentials] = {}
        for (site, role), credentials in members.credentials.items():
            folder = self.root / f"{site}-{role}"
            self.credentials[site, role] = replace(credentials, folder=folder, lists=(folder,))
        members.write(self.root)
        self.guardian_folder = self.root / "guardian-guardian"
        write_site(
            SiteConfig(
                federation=FEDERATION,
                site="guardian",
                role="guardian",
                listen="127.0.0.1:0",
                folder=self.guardian_folder,
            )
        )
        with (self.guardian_folder / "site.toml").open("a") as file:
            file.write(f"\n[policy]\n{self.policy}")

    def issue(self, site: str, role: Role, folder: Path) -> None:
        """Give a member keys and certificates, in a folder that must not exist."""
        folder.mkdir()
        identity = Identity(FEDERATION, site, role)
        self.credentials[site, role] = self.ca.issue(identity, folder, SystemClock())

    def revoke(self, *holders: Credentials) -> bytes:
        """Issue the CA's next revocation list, which names both certificates of each holder."""
        serials = [one.serial_number for holder in holders for one in (holder.tls_cert, holder.signing_cert)]
        return self.ca.revoke(serials, SystemClock())

    @contextmanager
    def guardian(self, noise: NoiseSource | None = None) -> Iterator["Calls"]:
        """Run a guardian with which nobody has registered yet (or its next instance).

        It allows data-dependent policies if told to, or if its site.toml says so. After every test that
        succeeds, its ledger must pass `ostraka audit verify`.
        """
        with running(
            self.guardian_folder,
            clock=self.clock,
            # Its self-test, a quarter of each start, has cases of its own: test_server.py.
            noise=noise or ExactNoise(),
            sleep=_at_once,
            votes_may_tell=self.votes_may_tell or "data_dependent" in self.policy,
        ) as address:
            calls = Calls(self, address)
            try:
                yield calls
            finally:
                calls.close()
        if not self.tampered:
            self.verify_ledger()

    def verify_ledger(self) -> None:
        """Check the ledger's tables against its audit log.

        Raises:
            OstrakaError: `ledger.tampered` naming the first row that differs.
        """
        ca_pem = self.credentials["guardian", Role.GUARDIAN].ca_pem
        verify(ledger_location(self.guardian_folder), ca_pem=ca_pem, federation=FEDERATION)


@dataclass(frozen=True)
class _Members:
    """Keys and certificates that every federation of this process begins with."""

    ca: CertificateAuthority
    credentials: dict[tuple[str, Role], Credentials]
    files: dict[Path, bytes]
    """The content of every file, by its path in the federation's folder."""

    def write(self, root: Path) -> None:
        """Write the files as their issuer wrote them: readable by their owner alone."""
        for folder in sorted({path.parent for path in self.files}):
            (root / folder).mkdir()
        for path, content in self.files.items():
            (root / path).touch(0o600)
            (root / path).write_bytes(content)


@cache
def _members() -> _Members:
    """Issue the members' certificates, once for all cases of a process: none changes them in place."""
    with TemporaryDirectory() as name:
        root = Path(name)
        (root / "ca").mkdir()
        ca = CertificateAuthority.create(FEDERATION, SystemClock()).save(root / "ca")
        credentials: dict[tuple[str, Role], Credentials] = {}
        for site, role in (
            *((s, Role.PARTY) for s in PARTIES),
            ("q", Role.QUERY),
            ("other", Role.QUERY),
            ("ops", Role.ADMIN),
            ("guardian", Role.GUARDIAN),
        ):
            folder = root / f"{site}-{role}"
            folder.mkdir()
            credentials[site, role] = ca.issue(Identity(FEDERATION, site, role), folder, SystemClock())
        files = {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        return _Members(ca, credentials, files)


class Calls:
    """Calls of every member to one guardian."""

    def __init__(self, federation: Federation, address: str) -> None:
        self._federation = federation
        self.address = address
        self._channels = {
            key: open_channel(credentials, address, Identity(FEDERATION, "guardian", Role.GUARDIAN))
            for key, credentials in federation.credentials.items()
        }

    def renew(self, site: str, role: Role) -> None:
        """Give a member new keys, and reconnect it."""
        self._federation.issue(site, role, self._federation.root / f"{site}-{role}-again")
        self._channels[site, role].close()
        expected = Identity(FEDERATION, "guardian", Role.GUARDIAN)
        credentials = self._federation.credentials[site, role]
        self._channels[site, role] = open_channel(credentials, self.address, expected)

    def states(self) -> dict[str, str]:
        """Every party's state, as administrators see it."""
        return {p.site: p.state for p in self.admin.ListParties(admin_pb2.ListPartiesRequest())}

    def revoke(self, revocations: bytes, reason: str = "a test") -> admin_pb2.RevokeReply:
        return self.admin.Revoke(admin_pb2.RevokeRequest(revocations=revocations, reason=reason))

    def close(self) -> None:
        for channel in self._channels.values():
            channel.close()

    def stub(self, site: str, role: Role) -> guardian_pb2_grpc.GuardianStub:
        return guardian_pb2_grpc.GuardianStub(self._channels[site, role])

    def begin_submitting(self, site: str, requests: Iterator[guardian_pb2.SubmitBallotsRequest]) -> Any:
        """Return gRPC's running call of a party that submits."""
        begin = self._channels[site, Role.PARTY].stream_stream(
            "/ostraka.v1.Guardian/SubmitBallots", guardian_pb2.SubmitBallotsRequest.SerializeToString
        )
        return begin(requests).call

    def credentials(self, site: str, role: Role) -> Credentials:
        return self._federation.credentials[site, role]

    @property
    def query(self) -> guardian_pb2_grpc.GuardianStub:
        return self.stub("q", Role.QUERY)

    @property
    def admin(self) -> admin_pb2_grpc.AdminStub:
        return admin_pb2_grpc.AdminStub(self._channels["ops", Role.ADMIN])

    def register(
        self,
        sender: str,
        *,
        kept: common_pb2.AuditHead | None = None,
        revocations: int = 0,
        **changes: Any,
    ) -> guardian_pb2.RegisterReply:
        fields: dict[str, Any] = {
            "site": sender,
            "task_digest": TASK,
            "groups": [group("all")],
            "max_votes_per_person": 1,
            "training": "test",
        }
        manifest = common_pb2.Manifest(**fields | changes)
        signed = self._federation.credentials[sender, Role.PARTY].sign(
            MANIFEST_CONTEXT, manifest.SerializeToString()
        )
        request = guardian_pb2.RegisterRequest(manifest=signed, kept_head=kept, revocations=revocations)
        return self.stub(sender, Role.PARTY).Register(request)

    def budget(self, site: str, epsilon: float, **changes: Any) -> admin_pb2.Budget:
        request: dict[str, Any] = {
            "party": site,
            "group": "all",
            "adjacency": "record",
            "epsilon": epsilon,
            "delta": 1e-5,
        }
        return self.admin.SetBudget(admin_pb2.SetBudgetRequest(**request | changes)).budget

    def set_party(self, site: str, state: str) -> admin_pb2.PartyInfo:
        request = admin_pb2.SetPartyRequest(party=site, state=state, reason="a test")
        return self.admin.SetParty(request).party

    def freeze(self, site: str, group: str, *, frozen: bool = True) -> None:
        named = {"party": site, "group": group, "adjacency": "record", "reason": "a test"}
        self.admin.FreezeBudget(admin_pb2.FreezeBudgetRequest(**named, frozen=frozen))

    def withdraw(self, site: str, group: str) -> None:
        named = {"party": site, "group": group, "adjacency": "record", "reason": "a test"}
        self.admin.WithdrawConsent(admin_pb2.WithdrawConsentRequest(**named))

    def apply_policy(self, toml: str) -> None:
        self.admin.ApplyPolicy(admin_pb2.ApplyPolicyRequest(toml=toml, reason="a test"))

    def reconcile(
        self, site: str, receipts: Sequence[common_pb2.Receipt], declared_votes: Sequence[int] = ()
    ) -> guardian_pb2.ReconcileReply:
        """Send each receipt, and each declared number of votes, in a separate message."""
        parts = [common_pb2.Receipts(site=site, receipts=[receipt]) for receipt in receipts]
        parts += [common_pb2.Receipts(site=site, declared_votes=[votes]) for votes in declared_votes]
        signer = self._federation.credentials[site, Role.PARTY]
        signed = [signer.sign(RECEIPTS_CONTEXT, part.SerializeToString()) for part in parts]
        requests = iter([guardian_pb2.ReconcileRequest(receipts=part) for part in signed])
        return self.stub(site, Role.PARTY).Reconcile(requests)

    def prepare_all(self, epsilon: float = 1000.0) -> None:
        """Register every party and give it a budget."""
        for site in PARTIES:
            self.register(site)
            self.budget(site, epsilon)

    def budgets(self, site: str) -> dict[str, admin_pb2.Budget]:
        """Return a party's record budgets by group."""
        found = list(self.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party=site)))
        return {budget.group: budget for budget in found if budget.adjacency == "record"}

    def spent(self, site: str = "a") -> float:
        (found,) = self.budgets(site).values()
        return found.epsilon_worst_case

    def open(self, asked: Plan | None = None) -> common_pb2.Grant:
        reply = self.query.OpenSession(guardian_pb2.OpenSessionRequest(plan=(asked or plan()).serialize()))
        return grant_of(reply.grant)

    def ticket(
        self, session: str, batch: int, size: int, unavailable: Sequence[str] = ()
    ) -> common_pb2.Ticket:
        reply = self.query.OpenBatch(
            guardian_pb2.OpenBatchRequest(
                session_id=session, batch_id=batch, size=size, unavailable=unavailable
            )
        )
        return ticket_of(reply.ticket)

    def evaluated(self, site: str, session: str, batch: int) -> common_pb2.AuditHead:
        """Record that a site answers a batch of encrypted queries."""
        request = guardian_pb2.RecordEvaluationRequest(session_id=session, batch_id=batch)
        return self.stub(site, Role.PARTY).RecordEvaluation(request).audit_head

    def submit(self, site: str, session: str, batch: int, share: RingArray) -> common_pb2.AuditHead:
        sent = stream_share(guardian_pb2.SubmitBallotsRequest, *framed_ballots(session, batch, share))
        return self.stub(site, Role.PARTY).SubmitBallots(sent).audit_head

    def prepare(self, session: str, batch: int, held: Sequence[str] = PARTIES) -> guardian_pb2.PrepareReply:
        return self.query.Prepare(
            guardian_pb2.PrepareRequest(session_id=session, batch_id=batch, parties=held)
        )

    def release(self, session: str, batch: int, total: RingArray) -> list[tuple[bool, int]]:
        return [(answer.answered, answer.label) for answer in self.answers(session, batch, total)]

    def answers(
        self, session: str, batch: int, total: RingArray, scores: np.ndarray | None = None
    ) -> list[guardian_pb2.Answer]:
        """Return the answers in `replies`."""
        return [answer for reply in self.replies(session, batch, total, scores) for answer in reply.answers]

    def replies(
        self, session: str, batch: int, total: RingArray, scores: np.ndarray | None = None
    ) -> list[guardian_pb2.ReleaseReply]:
        """Send the sum, followed by a student's `scores` in units of 2^-16, if any."""
        sent = stream_share(guardian_pb2.ReleaseRequest, *framed_sum(session, batch, total, scores))
        return list(self.query.Release(sent))

    def settle(self, session: str, batch: int) -> guardian_pb2.SettleBatchReply:
        return self.query.SettleBatch(guardian_pb2.SettleBatchRequest(session_id=session, batch_id=batch))

    def vote(
        self,
        session: str,
        batch: int,
        votes: np.ndarray,
        sites: Sequence[str] = PARTIES,
        ring: Ring = RING,
    ) -> RingArray:
        """Submit each site's share of `votes` (sites, Q, k), freeze, and return the other sum."""
        halves = []
        for i, (site, ballots) in enumerate(zip(sites, votes, strict=True)):
            seed = bytes([i]) * 32
            share = split_shares(ballots, seed, ring)
            self.submit(site, session, batch, share)
            halves.append(encode(ballots, ring) - share)
        assert list(self.prepare(session, batch, sites).frozen) == sorted(sites)
        return ring.sum(halves)


def framed_ballots(session: str, batch: int, values: RingArray) -> tuple[guardian_pb2.BallotsHeader, bytes]:
    """Return header and data of a share of ballots."""
    data = Ring(8 * values.itemsize).to_bytes(values)
    rows, width = values.shape
    digest = hashlib.sha256(data).digest()
    header = guardian_pb2.BallotsHeader(
        session_id=session, batch_id=batch, rows=rows, width=width, sha256=digest
    )
    return header, data


def framed_sum(
    session: str, batch: int, values: RingArray, scores: np.ndarray | None = None
) -> tuple[guardian_pb2.ReleaseHeader, bytes]:
    """Return header and data of a sum, followed by a student's scores."""
    _, data = framed_ballots(session, batch, values)
    rows, width = values.shape
    score_width = 0
    if scores is not None:
        data += scores.astype("<u4").tobytes()
        score_width = scores.shape[1]
    header = guardian_pb2.ReleaseHeader(
        session_id=session,
        batch_id=batch,
        rows=rows,
        width=width,
        sha256=hashlib.sha256(data).digest(),
        score_width=score_width,
    )
    return header, data


def voters(ticket: common_pb2.Ticket) -> list[str]:
    """Return the parties of a ticket."""
    return [schedule.participant.site for schedule in ticket.schedule]


def unanimous(queries: int, label: int = 1, sites: int = 3) -> np.ndarray:
    """Return ballots (sites, queries, 4) in which every teacher votes for `label`."""
    votes = np.zeros((sites, queries, 4), dtype=np.int64)
    votes[:, :, label] = TEACHERS
    return votes


def _at_once(seconds: float) -> None:
    """Do not wait."""
