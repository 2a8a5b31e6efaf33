"""The calls of a querying site and of a lead, made by their real clients to servers that may lie."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, TypeVar
from unittest import mock

import numpy as np
from google.protobuf.message import Message
from grpc_health.v1 import health_pb2

from ostraka.client.peers import async_peer, guardian_peer, party_peer
from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import GuardianPeer, Sum
from ostraka.client.peers.party_peer import PartyPeer, VoteBatch, Voter
from ostraka.client.peers.retry import Retry, StepCall
from ostraka.client.peers.verification import Verification
from ostraka.client.session.answers import read_answers
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.summed_rounds import read_sum
from ostraka.client.sums.peer import AskedSum, SumPeer
from ostraka.client.training import peer as training_peer
from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.client.training.training_state import AveragedModel
from ostraka.common.clock import SystemClock
from ostraka.common.identity import Credentials, Identity
from ostraka.common.mechanism import JointTraining
from ostraka.common.plan.plan import Plan, digest
from ostraka.common.plan.signed_lists import SignedEntries, read_grant, read_ticket
from ostraka.common.rpc import checked, open_async_channel, open_channel, shares, streaming
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.steps import StepId
from ostraka.common.rpc.watcher import Target
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.status import servers
from ostraka.deploy.site import peer_check
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2, party_pb2, training_pb2
from ostraka.services.voting import submission
from tests.fuzz.lying import first_of
from tests.fuzz.methods import Answered, answered_by
from tests.fuzz.recording import Exchange, Recorder

T = TypeVar("T")

DEADLINE_S = 0.5
"""Deadline of every call, short so that late servers cost little time."""
HEED_S = 0.02
"""How long a stream is held back while its refusal may be lost."""
ATTEMPTS = 2
MOST_WAITS = 8
"""How often a guardian may ask a client to wait; after that the client is ended as too patient."""
GUARDIAN, PARTY, TRAINING = (f"/ostraka.v1.{name}/" for name in ("Guardian", "Party", "Training"))
DEADLINES = {
    checked: ("CALL_S",),
    async_peer: ("PROBE_S",),
    guardian_peer: ("CALL_S", "RELEASE_S", "TALLY_S"),
    party_peer: ("BEGIN_S", "STEP_S", "VOTE_S"),
    training_peer: ("JOIN_S", "ROUND_S"),
    submission: ("CALL_TIMEOUT_S", "RECONCILE_TIMEOUT_S"),
    servers: ("CALL_S",),
    peer_check: ("TIMEOUT_S",),
}


SHARES = ("SubmitBallots", "SubmitProof", "VerifyBallots", "Release")
"""Calls that send a share as a stream; with WHOLE appended, each names the call that sends it at once."""
WHOLE = "Whole"


class Forgetful:
    """Servers that only take streams: it remembers none, so that one lie does not spare others."""

    def __contains__(self, _: object) -> bool:
        return False

    def add(self, _: object) -> None:
        """Do not remember the server."""


@contextmanager
def streaming_shares() -> Iterator[None]:
    """Make this process send every share as a stream within the block."""
    with mock.patch.object(shares, "MAX_WHOLE_BYTES", -1):
        yield


def share_of(exchange: Exchange) -> tuple[Any, bytes]:
    """Return header and data of a share, in whichever form it was sent."""
    first, *chunks = _requests(exchange)
    whole = exchange.path.endswith(WHOLE)
    return first.header, first.data if whole else b"".join(one.chunk.data for one in chunks)


def _requests(exchange: Exchange) -> list[Any]:
    return [answered_by(exchange.path).request.FromString(one) for one in exchange.requests]


class PatienceError(Exception):
    """A client would go on waiting for as long as the server says so."""


@dataclass(frozen=True)
class Client:
    """One call of a real client.

    Attributes:
        name: its name in a report.
        method: the called method and its server.
        server: "guardian", "party" or "learner", a party whose teachers learn.
        honest: an honest server's answer.
        call: makes the call, and returns the client's result.
        wrong: returns what is wrong with the result for these replies, if anything.
        bound: whether only the signer of the answer can change the result.
        beside: an honest server's answers to the other calls that the client makes.
        weight: how often it is lied to, relative to others.
        lists: whether it reads lists that grow for years, whatever their length.
    """

    name: str
    method: Answered
    server: str
    honest: tuple[bytes, ...]
    call: Callable[[], Any]
    wrong: Callable[[Sequence[bytes], Any], str | None] = lambda *_: None
    bound: bool = False
    beside: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict)
    weight: float = 1.0
    lists: bool = False


@contextmanager
def impatient() -> Iterator[None]:
    """Make every deadline of a client short within the block."""
    with ExitStack() as stack:
        for module, names in DEADLINES.items():
            for name in names:
                stack.enter_context(mock.patch.object(module, name, DEADLINE_S))
        stack.enter_context(mock.patch.object(streaming, "HEED_S", HEED_S))
        stack.enter_context(mock.patch.object(shares, "WeakSet", Forgetful))
        yield


@dataclass
class Waits:
    """Seconds that a client was told to wait in one call; it does not really wait."""

    told: list[float] = field(default_factory=list)

    def sleep(self, seconds: float) -> None:
        """Record a wait, and end a client that waits too often."""
        self.told.append(seconds)
        if len(self.told) > MOST_WAITS:
            raise PatienceError

    async def pause(self, seconds: float) -> None:
        """Do the same as `sleep`."""
        self.sleep(seconds)

    @property
    def retry(self) -> Retry:
        """Return a client's retries, which use these waits."""
        return Retry(ATTEMPTS, 0.0, self.sleep, self.pause, random.Random(1))  # noqa: S311


@dataclass(frozen=True)
class Session:
    """A session that an honest guardian opened: its owner, its plan, and its grant as sent."""

    sender: str
    plan_bytes: bytes
    signed: common_pb2.SignedList

    @cached_property
    def plan(self) -> Plan:
        """The plan."""
        return Plan.parse(self.plan_bytes)

    @cached_property
    def grant(self) -> common_pb2.Grant:
        """The grant, whole."""
        return read_grant(self.signed.SerializeToString())

    @cached_property
    def entries(self) -> SignedEntries:
        """The part of the grant that each party is shown."""
        return SignedEntries(self.signed, [one.site for one in self.grant.participants])


class Sessions:
    """Sessions and tickets in the recordings."""

    def __init__(self, recorder: Recorder) -> None:
        """Read the guardians' answers."""
        self.by_id: dict[str, Session] = {}
        self.tickets: dict[tuple[str, int], common_pb2.SignedList] = {}
        for one in recorder.exchanges[f"{GUARDIAN}OpenSession"]:
            plan = guardian_pb2.OpenSessionRequest.FromString(one.requests[0]).plan
            grant = guardian_pb2.OpenSessionReply.FromString(one.replies[0]).grant
            session = Session(one.sender, plan, grant)
            self.by_id[session.grant.session_id] = session
        for one in recorder.exchanges[f"{GUARDIAN}OpenBatch"]:
            asked = guardian_pb2.OpenBatchRequest.FromString(one.requests[0])
            reply = guardian_pb2.OpenBatchReply.FromString(one.replies[0])
            self.tickets[asked.session_id, asked.batch_id] = reply.ticket

    def ticket(self, session_id: str, batch_id: int) -> common_pb2.Ticket:
        """Return a ticket, whole."""
        return read_ticket(self.tickets[session_id, batch_id].SerializeToString())


class QuerierClients:
    """Clients of guardians and parties: a querying site, and the lead of a training."""

    def __init__(
        self,
        recorder: Recorder,
        members: Mapping[str, Credentials],
        guardian: tuple[str, Identity],
        party: tuple[str, Identity],
        learner: tuple[str, Identity],
        waits: Waits,
    ) -> None:
        """Take the recordings, the members with their keys, and the servers' addresses."""
        self._recorder = recorder
        self._members = members
        self._guardian, self._party, self._learner = guardian, party, learner
        self._waits = waits
        self._sessions = Sessions(recorder)
        self._pool = ThreadPoolExecutor(ATTEMPTS)
        self._peer = cache(self._connected)
        self._stepping = cache(self._begun)

    def clients(self) -> Iterator[Client]:
        """Yield a client for every recorded call, and for the calls to parties that follow from it."""
        for path, exchanges in sorted(self._recorder.exchanges.items()):
            make = self._table.get(path.removeprefix(GUARDIAN)) if path.startswith(GUARDIAN) else None
            for exchange in exchanges:
                if make is not None and exchange.sender in self._members and self._knows(path, exchange):
                    yield make(self, exchange)
                if path in STEPS or path == f"{PARTY}Begin":
                    yield self._encrypted(exchange)
        yield from self._settling()
        for key in sorted(self._sessions.tickets):
            if key[0] in self._sessions.by_id:
                yield from self._answering(*key)
        yield self._probe()

    def _knows(self, path: str, exchange: Exchange) -> bool:
        """Whether the session that a call is about was recorded too."""
        request = self._request(exchange)
        header = getattr(request, "header", request)
        return (
            not hasattr(header, "batch_id") or (header.session_id, header.batch_id) in self._sessions.tickets
        )

    def _request(self, exchange: Exchange) -> Any:
        return answered_by(exchange.path).request.FromString(exchange.requests[0])

    def _connected(self, sender: str) -> GuardianPeer:
        address, identity = self._guardian
        connect = lambda at: open_channel(self._members[sender], at, identity)  # noqa: E731
        return GuardianPeer(Replicas(connect, address), self._waits.retry)

    def _client(self, exchange: Exchange, call: Callable[[GuardianPeer], Any], **more: Any) -> Client:
        peer = self._peer(exchange.sender)
        name = exchange.path.rpartition("/")[2]
        return Client(
            name,
            answered_by(exchange.path),
            "guardian",
            exchange.replies,
            lambda: in_form_of(exchange, lambda: call(peer)),
            **more,
        )

    def _plan(self, exchange: Exchange) -> Client:
        plan = self._request(exchange).plan
        return self._client(exchange, lambda peer: peer.plan(plan))

    def _open_session(self, exchange: Exchange) -> Client:
        plan_bytes = self._request(exchange).plan
        plan, own = Plan.parse(plan_bytes), self._members[exchange.sender]
        permissions = Permissions(own, self._guardian[1], SystemClock())

        def wrong(_: Sequence[bytes], grant: common_pb2.Grant) -> str | None:
            sites = [one.site for one in grant.participants]
            right = (
                grant.plan_digest == digest(plan_bytes)
                and grant.querier == own.identity.uri
                and plan.quorum <= len(sites) == len(set(sites))
                and set(sites) <= set(plan.parties)
            )
            return None if right else f"a grant of {sites} for {grant.querier} was taken for one of this plan"

        return self._client(
            exchange,
            lambda peer: permissions.grant(peer.open_session(plan_bytes).grant, plan_bytes),
            wrong=wrong,
            bound=True,
        )

    def _open_batch(self, exchange: Exchange) -> Client:
        asked = self._request(exchange)
        session = self._sessions.by_id[asked.session_id]
        permissions = Permissions(self._members[exchange.sender], self._guardian[1], SystemClock())
        quorum = session.plan.quorum

        def opened(peer: GuardianPeer) -> common_pb2.Ticket:
            sent = peer.open_batch(asked.session_id, asked.batch_id, asked.size, asked.unavailable)
            return permissions.ticket(
                sent, session.grant, batch_id=asked.batch_id, size=asked.size, quorum=quorum
            )

        def wrong(_: Sequence[bytes], ticket: common_pb2.Ticket) -> str | None:
            sites = [one.participant.site for one in ticket.schedule]
            right = (
                (ticket.session_id, ticket.batch_id, ticket.size)
                == (asked.session_id, asked.batch_id, asked.size)
                and quorum <= len(sites) == len(set(sites))
                and set(sites) <= {one.site for one in session.grant.participants}
            )
            return None if right else f"a ticket of {sites} was taken for one of this batch"

        return self._client(exchange, opened, wrong=wrong, bound=True)

    def _verify_ballots(self, exchange: Exchange) -> Client:
        first, *others = _requests(exchange)
        header = first.header
        told = first.parties if exchange.path.endswith(WHOLE) else [one.party for one in others]
        parties = {party.site: (party.commitment, party.share) for party in told}
        sent = Verification(header.session_id, header.batch_id, header.point_seed, parties)
        return self._client(exchange, lambda peer: peer.verify_ballots(sent))

    def _prepare(self, exchange: Exchange) -> Client:
        asked = self._request(exchange)
        return self._client(
            exchange, lambda peer: peer.prepare(asked.session_id, asked.batch_id, list(asked.parties))
        )

    def _release(self, exchange: Exchange) -> Client:
        header, data = share_of(exchange)
        total = Sum(data, header.rows, header.width)
        key = header.session_id, header.batch_id
        plan = self._sessions.by_id[header.session_id].plan
        if plan.releases_sums:
            return self._client(
                exchange, lambda peer: read_sum(peer.release_update(*key, total), header.width)
            )
        return self._client(
            exchange,
            lambda peer: read_answers(peer.release(*key, total), header.rows, plan),
            wrong=_wrong_answers(plan, header.rows),
        )

    def _settling(self) -> Iterator[Client]:
        """Yield the calls after an interruption for every released batch: they must get the same answers."""
        released = (self._recorder.exchanges[f"{GUARDIAN}{name}"] for name in ("Release", f"Release{WHOLE}"))
        for exchange in itertools.chain(*released):
            header = self._request(exchange).header
            if exchange.sender not in self._members or not self._knows(exchange.path, exchange):
                continue
            asked = guardian_pb2.SettleBatchRequest(session_id=header.session_id, batch_id=header.batch_id)
            came = [guardian_pb2.ReleaseReply.FromString(one) for one in exchange.replies]
            answers = [answer for reply in came for answer in reply.answers]
            settled = guardian_pb2.SettleBatchReply(released=True, answers=answers)
            yield self._settle(_asked(exchange, "SettleBatch", asked, settled))
            if not answers:
                chunks = [reply.update for reply in came]
                yield self._released_update(_asked(exchange, "ReleasedUpdate", asked, *chunks))

    def _settle(self, exchange: Exchange) -> Client:
        asked = self._request(exchange)
        plan = self._sessions.by_id[asked.session_id].plan
        size = 0 if plan.releases_sums else self._ticket_size(asked)

        def settled(peer: GuardianPeer) -> Any:
            stored = peer.settle(asked.session_id, asked.batch_id)
            return None if stored is None else read_answers(stored, size, plan)

        return self._client(exchange, settled, wrong=_wrong_answers(plan, size))

    def _released_update(self, exchange: Exchange) -> Client:
        asked = self._request(exchange)
        chunks = [common_pb2.Chunk.FromString(one) for one in exchange.replies]
        width = sum(len(one.data) for one in chunks) // 8
        return self._client(
            exchange,
            lambda peer: read_sum(peer.released_update(asked.session_id, asked.batch_id, width), width),
        )

    def _ticket_size(self, asked: Any) -> int:
        return self._sessions.ticket(asked.session_id, asked.batch_id).size

    def _close_session(self, exchange: Exchange) -> Client:
        session_id = self._request(exchange).session_id
        return self._client(exchange, lambda peer: peer.close_session(session_id))

    def _begin_tally(self, exchange: Exchange) -> Client:
        request = self._request(exchange)
        return self._client(exchange, lambda peer: peer.begin_tally(request))

    def _garble_tally(self, exchange: Exchange) -> Client:
        make, wrong = _step(exchange)
        return self._client(exchange, lambda peer: make(peer.garble_tally), wrong=wrong)

    def _compare_tally(self, exchange: Exchange) -> Client:
        make, wrong = _step(exchange)
        return self._client(exchange, lambda peer: make(peer.compare_tally), wrong=wrong)

    def _open_check(self, exchange: Exchange) -> Client:
        step, data = _sent_step(exchange)
        return self._client(exchange, lambda peer: peer.open_check(step, data))

    def _begun(self, sender: str) -> PartyPeer:
        """Return a client whose channel is open; the call that opened it has no answer."""
        address, identity = self._party
        connect = lambda: open_channel(self._members[sender], address, identity)  # noqa: E731
        return PartyPeer(identity.site, connect, self._waits.retry)

    def _encrypted(self, exchange: Exchange) -> Client:
        peer = self._stepping(exchange.sender)
        name = exchange.path.removeprefix(PARTY)
        answered = answered_by(exchange.path)
        if name == "Begin":
            request = self._request(exchange)
            return Client(name, answered, "party", exchange.replies, lambda: peer.begin(request))
        make, wrong = _step(exchange)
        method = STEPS[exchange.path]

        def stepped() -> bytes:
            return make(lambda call: method(peer, call))

        return Client(name, answered, "party", exchange.replies, stepped, wrong)

    def _answering(self, session_id: str, batch_id: int) -> Iterator[Client]:
        """Yield the calls to parties in a plain batch or in a round."""
        session = self._sessions.by_id[session_id]
        ticket = self._sessions.ticket(session_id, batch_id)
        sites = [one.participant.site for one in ticket.schedule]
        entries = SignedEntries(self._sessions.tickets[session_id, batch_id], sites)
        if session.sender not in self._members:
            return
        if isinstance(session.plan.mechanism, JointTraining):
            if self._learner[1].site in sites:
                yield from self._learning(session, entries)
        elif session.plan.mechanism.sums_records and self._party[1].site in sites:
            yield self._adding_up(session, entries)
        elif session.plan.encoding == "plain" and self._party[1].site in sites:
            yield self._voting(session, ticket.size, entries)

    def _voting(self, session: Session, size: int, ticket: SignedEntries) -> Client:
        address, identity = self._party
        own, width = self._members[session.sender], session.plan.mechanism.width(session.plan.classes)
        features = np.zeros((size, 2), np.float32)
        batch = VoteBatch(session.plan_bytes, width, session.entries, ticket, features)
        asked = Voter(
            Target(address, identity, own),
            lambda: open_async_channel(own, address, identity),
            self._waits.retry,
            self._pool,
        )
        header = party_pb2.VoteReplyHeader(rows=size, width=width, seed=bytes(SEED_BYTES))
        honest = (party_pb2.VoteReply(header=header).SerializeToString(),)

        def wrong(came: Sequence[bytes], seed: bytes) -> str | None:
            only: Any = first_of(came, party_pb2.VoteReply)
            return None if only is not None and only.header.seed == seed else "a seed that nobody sent"

        answered = answered_by(f"{PARTY}Vote")
        return Client("Vote", answered, "party", honest, lambda: run_async(asked.vote(batch)), wrong)

    def _adding_up(self, session: Session, ticket: SignedEntries) -> Client:
        address, identity = self._party
        own, width = self._members[session.sender], session.plan.mechanism.width(session.plan.classes)
        asked = AskedSum(session.plan_bytes, session.entries, ticket, b"question", width)
        peer = SumPeer(
            Target(address, identity, own),
            lambda: open_async_channel(own, address, identity),
            self._waits.retry,
            self._pool,
        )
        header = party_pb2.VoteReplyHeader(rows=1, width=width, seed=bytes(SEED_BYTES))

        def wrong(came: Sequence[bytes], seed: bytes) -> str | None:
            only: Any = first_of(came, party_pb2.VoteReplyHeader)
            if only is None or only.seed != seed or len(seed) != SEED_BYTES:
                return "a seed that nobody sent"
            return None if (only.rows, only.width) == (1, width) else f"a sum of {only.rows} rows"

        answered = answered_by(f"{PARTY}Sum")
        honest = (header.SerializeToString(),)
        return Client("Sum", answered, "party", honest, lambda: run_async(peer.add_up(asked)), wrong)

    def _probe(self) -> Client:
        address, identity = self._party
        own = self._members[sorted(self._members)[0]]
        asked = Voter(
            Target(address, identity, own),
            lambda: open_async_channel(own, address, identity),
            self._waits.retry,
            self._pool,
        )
        serving = health_pb2.HealthCheckResponse(status=health_pb2.HealthCheckResponse.SERVING)

        def wrong(came: Sequence[bytes], _: None) -> str | None:
            only: Any = first_of(came, health_pb2.HealthCheckResponse)
            return (
                None if only is not None and only.status == serving.status else "a party that does not serve"
            )

        answered = answered_by("/grpc.health.v1.Health/Check")
        return Client(
            "Health",
            answered,
            "party",
            (serving.SerializeToString(),),
            lambda: run_async(asked.probe()),
            wrong,
        )

    def _learning(self, session: Session, ticket: SignedEntries) -> Iterator[Client]:
        address, identity = self._learner
        mechanism = session.plan.mechanism
        assert isinstance(mechanism, JointTraining)
        own, width = self._members[session.sender], mechanism.recipe.parameters
        asked = TrainingPeer(
            Target(address, identity, own),
            lambda: open_async_channel(own, address, identity),
            self._waits.retry,
            self._pool,
        )
        average = AveragedModel.starting_at(np.zeros(width, np.float32))
        work = Work(session.plan_bytes, session.entries, average, ticket)
        untrained = bytes(4 * width)
        header = training_pb2.JoinHeader(
            model="logistic", parameters=width, sha256=hashlib.sha256(untrained).digest()
        )
        joined = (
            training_pb2.JoinReply(header=header),
            training_pb2.JoinReply(chunk=common_pb2.Chunk(data=untrained)),
        )
        trained = (party_pb2.VoteReplyHeader(rows=1, width=width, seed=bytes(SEED_BYTES)),)

        def wrong_join(_: Sequence[bytes], party: Any) -> str | None:
            return None if np.isfinite(party.untrained).all() else "parameters that are not numbers"

        def wrong_train(came: Sequence[bytes], seed: bytes) -> str | None:
            only: Any = first_of(came, party_pb2.VoteReplyHeader)
            return None if only is not None and only.seed == seed else "a seed that nobody sent"

        for name, honest, call, wrong in (
            ("Join", joined, lambda: run_async(asked.join(mechanism.kind, lambda _: None)), wrong_join),
            ("Train", trained, lambda: run_async(asked.train(work, None)), wrong_train),
            (
                "Finish",
                (training_pb2.FinishReply(),),
                lambda: run_async(asked.finish(work, 1)),
                _nothing_wrong,
            ),
        ):
            replies = tuple(message.SerializeToString() for message in honest)
            yield Client(name, answered_by(f"{TRAINING}{name}"), "learner", replies, call, wrong)

    _table: Mapping[str, Callable[[QuerierClients, Exchange], Client]] = {
        "Plan": _plan,
        "OpenSession": _open_session,
        "OpenBatch": _open_batch,
        "VerifyBallots": _verify_ballots,
        "VerifyBallotsWhole": _verify_ballots,
        "Prepare": _prepare,
        "Release": _release,
        "ReleaseWhole": _release,
        "CloseSession": _close_session,
        "BeginTally": _begin_tally,
        "GarbleTally": _garble_tally,
        "CompareTally": _compare_tally,
        "OpenCheck": _open_check,
    }


STEPS: Mapping[str, Callable[[PartyPeer, StepCall], None]] = {
    f"{PARTY}Garble": PartyPeer.garble,
    f"{PARTY}Evaluate": PartyPeer.evaluate,
    f"{PARTY}Compare": PartyPeer.compare,
}


def in_form_of(exchange: Exchange, call: Callable[[], T]) -> T:
    """Make a call; a share is sent in the same form as in the recording."""
    with streaming_shares() if exchange.path.endswith(SHARES) else nullcontext():
        return call()


def _nothing_wrong(*_: Any) -> None:
    return None


def _wrong_answers(plan: Plan, size: int) -> Callable[[Sequence[bytes], Any], str | None]:
    def wrong(_: Sequence[bytes], answers: Any) -> str | None:
        if answers is None:
            return None
        odd = [one for one in answers if isinstance(one, int) and not 0 <= one < plan.classes]
        return f"answers {answers}" if odd or len(answers) != size else None

    return wrong


def _sent_step(exchange: Exchange) -> tuple[StepId, bytes]:
    first, *chunks = map(common_pb2.Step.FromString, exchange.requests)
    return StepId.of(first.header), b"".join(one.chunk.data for one in chunks)


def _step(
    exchange: Exchange,
) -> tuple[Callable[[Callable[[StepCall], None]], bytes], Callable[[Sequence[bytes], bytes], str | None]]:
    """Return a function that makes a step with a client's method, and a check of what it accepted."""
    step, data = _sent_step(exchange)
    size = common_pb2.Step.FromString(exchange.replies[0]).header.bytes

    def make(method: Callable[[StepCall], None]) -> bytes:
        taken: list[bytes] = []
        method(StepCall(step, data, size, taken.append))
        return b"".join(taken)

    def wrong(came: Sequence[bytes], taken: bytes) -> str | None:
        sent = b"".join(common_pb2.Step.FromString(one).chunk.data for one in came[1:])
        return (
            None if taken == sent and len(taken) == size else f"{len(taken)} bytes for the {size} of a step"
        )

    return make, wrong


def _asked(exchange: Exchange, name: str, request: Message, *replies: Message) -> Exchange:
    """Return another call by the same sender."""
    answered = tuple(message.SerializeToString() for message in replies)
    return Exchange(f"{GUARDIAN}{name}", exchange.sender, (request.SerializeToString(),), answered)
