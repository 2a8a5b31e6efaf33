"""One batch from its ticket to its answers: everybody votes, the set is frozen, one sum is sent."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from client.answers import Answer, read_answers
from client.availability import Availability, quorum_lost
from client.guardian_peer import GuardianPeer, Sum
from client.party_peer import PartyPeer, VoteBatch
from client.permissions import Permissions
from client.voting import Votes, collect
from common.errors import ErrorCode, OstrakaError
from common.plan import Plan
from common.schedules import scheduled
from common.sharing.ring import Ring
from protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Peers:
    """Whom a session talks to; `pool` has a thread for every party."""

    guardian: GuardianPeer
    parties: Mapping[str, PartyPeer]
    permissions: Permissions
    pool: Executor


@dataclass(frozen=True)
class Queries:
    """What is asked: features, float32 (queries, columns), and for Interactive the student's scores of them.

    Scores are probabilities in units of 2^-16, uint32 (queries, classes).
    """

    features: NDArray[np.float32]
    scores: NDArray[np.uint32] | None = None

    def __len__(self) -> int:
        """Number of queries."""
        return len(self.features)

    def take(self, rows: Sequence[int]) -> "Queries":
        """The queries at these rows, in that order."""
        at = list(rows)
        return Queries(self.features[at], None if self.scores is None else self.scores[at])


@dataclass(frozen=True)
class Released:
    """A batch's answers by query, and the parties whose ballots were summed."""

    answers: list[Answer]
    parties: tuple[str, ...]


@dataclass(frozen=True)
class Granted:
    """A session as the guardian granted it: the plan as sent and as read, the grant signed and read."""

    plan_bytes: bytes
    plan: Plan
    signed: common_pb2.Signed
    grant: common_pb2.Grant


@dataclass(frozen=True)
class Ticketed:
    """A batch's ticket, as the guardian signed it and as it reads."""

    signed: common_pb2.Signed
    read: common_pb2.Ticket

    @property
    def schedule(self) -> dict[str, tuple[str, ...]]:
        """By site, the queries of each of its cliques as the ticket says them, in hex."""
        return {one.participant.site: tuple(map(bytes.hex, one.queries)) for one in self.read.schedule}

    @property
    def voters(self) -> frozenset[tuple[str, int]]:
        """The cliques that vote on any query: site and place."""
        return frozenset(
            (one.participant.site, place)
            for one in self.read.schedule
            for place, votes in enumerate(scheduled(one, self.read.size))
            if votes.any()
        )


class BatchRound:
    """Puts batches of a session to the parties and the guardian."""

    def __init__(self, peers: Peers, session: Granted, availability: Availability) -> None:
        """Take an open session."""
        self._peers = peers
        self._session = session
        self._availability = availability

    def run(self, ticket: Ticketed, queries: Queries, *, patient: bool) -> Released:
        """Have a batch voted on and released under its ticket.

        Parties that fail are left out, if the quorum allows. While `patient`, a party that was restarted
        ends the batch with `batch.restarted` instead, so that it can vote on the next.
        """
        session, plan = self._session, self._session.plan
        size, width = len(queries), plan.mechanism.width(plan.classes)
        batch_id = ticket.read.batch_id
        asked = VoteBatch(session.plan_bytes, width, session.signed, ticket.signed, queries.features)
        sites = [schedule.participant.site for schedule in ticket.read.schedule]
        votes = collect(self._peers.parties, sites, asked, self._peers.pool)
        self._note(votes, patient)
        frozen = self._frozen(batch_id, votes)
        total = Sum(votes.total(frozen, size, width, Ring(plan.ring_bits)), size, width, queries.scores)
        answers = self._peers.guardian.release(session.grant.session_id, batch_id, total)
        return Released(read_answers(answers, size, plan), frozen)

    def _note(self, votes: Votes, patient: bool) -> None:
        for site, error in votes.failures.items():
            if patient and error.code is ErrorCode.BATCH_RESTARTED:
                raise error
            self._availability.failed(site, error)
        if len(votes.seeds) < self._session.plan.quorum:
            raise quorum_lost(len(votes.seeds), self._session.plan.quorum, self._availability.failures)

    def _frozen(self, batch_id: int, votes: Votes) -> tuple[str, ...]:
        held, quorum = sorted(votes.seeds), self._session.plan.quorum
        frozen = self._peers.guardian.prepare(self._session.grant.session_id, batch_id, held)
        if not set(frozen) <= set(held) or not len(set(frozen)) == len(frozen) >= quorum:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The guardian froze parties whose shares are not held here, or too few: nothing was sent; "
                "use the same version everywhere.",
            )
        for site in set(held) - set(frozen):
            error = OstrakaError(
                ErrorCode.PARTY_UNREACHABLE,
                f"Party {site} voted but did not reach the guardian in time: look at its log.",
            )
            self._availability.failed(site, error)
        return frozen
