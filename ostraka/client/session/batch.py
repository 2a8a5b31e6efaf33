"""A session and its batches, as everything here that acts on them takes them, and how they are drawn."""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.party_peer import Clusters, PartyPeer, Voter
from ostraka.client.session.permissions import Permissions
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.plan.signed_lists import SignedEntries
from ostraka.protos.ostraka.v1 import common_pb2

A = TypeVar("A")


@dataclass(frozen=True)
class Peers:
    """Whom a session talks to: parties as `voters`, or on encrypted queries as `parties`.

    `pool` has threads for encrypted queries, at most so many whatever the number of parties.
    """

    guardian: GuardianPeer
    voters: Mapping[str, Voter]
    parties: Mapping[str, PartyPeer]
    permissions: Permissions
    pool: Executor


@dataclass(frozen=True)
class Queries:
    """What is asked: features, float32 (queries, columns), and for Interactive the student's scores of them.

    Scores are probabilities in units of 2^-16, uint32 (queries, classes). Where clusters are the queries,
    features are those of their records.
    """

    features: NDArray[np.float32] = field(repr=False)
    scores: NDArray[np.uint32] | None = field(default=None, repr=False)
    clusters: Clusters | None = None

    def __len__(self) -> int:
        return len(self.features) if self.clusters is None else self.clusters.count

    def take(self, rows: Sequence[int]) -> "Queries":
        """Return the queries at these rows, in that order; clusters are all asked at once."""
        if self.clusters is not None:
            return Queries(self.features, self.scores, self.clusters.arrange(rows))
        at = list(rows)
        return Queries(self.features[at], None if self.scores is None else self.scores[at])


@dataclass(frozen=True)
class ReleasedBatch(Generic[A]):
    """A batch's answers, by query where they are labels, and the parties whose ballots were summed."""

    answers: A
    parties: tuple[str, ...]


@dataclass(frozen=True)
class Granted:
    """A session as the guardian granted it: the plan as sent and as read, the grant signed and read."""

    plan_bytes: bytes
    plan: Plan
    signed: common_pb2.SignedList
    grant: common_pb2.Grant

    @cached_property
    def entries(self) -> SignedEntries:
        """The grant as each party is shown it."""
        return SignedEntries(self.signed, (one.site for one in self.grant.participants))


@dataclass(frozen=True)
class Ticketed:
    """A batch's ticket, as the guardian signed it and as it reads."""

    signed: common_pb2.SignedList
    read: common_pb2.Ticket

    @cached_property
    def entries(self) -> SignedEntries:
        """The ticket as each party is shown it."""
        return SignedEntries(self.signed, self.sites)

    @property
    def schedule(self) -> dict[str, tuple[str, ...]]:
        """By site, the queries of each of its cohorts as the ticket says them, in hex."""
        return {one.participant.site: tuple(map(bytes.hex, one.queries)) for one in self.read.schedule}

    @property
    def sites(self) -> tuple[str, ...]:
        """The parties that vote."""
        return tuple(one.participant.site for one in self.read.schedule)

    def fewest(self, sites: Collection[str]) -> int:
        """Return how many of the `sites` vote on the query, or label, that fewest of them vote on."""
        voting = [
            (set(one.participant.abstains), read_schedule(one, self.read.size).any(axis=0))
            for one in self.read.schedule
            if one.participant.site in sites
        ]
        if not voting:
            return 0
        labels = {None}.union(*(silent for silent, _ in voting))
        return min(
            int(np.sum(on_label, axis=0).min())
            for label in labels
            if (on_label := [votes for silent, votes in voting if label not in silent])
        )

    @property
    def voters(self) -> frozenset[tuple[str, int]]:
        """The cohorts that vote on any query: site and place."""
        return frozenset(
            (one.participant.site, place)
            for one in self.read.schedule
            for place, votes in enumerate(read_schedule(one, self.read.size))
            if votes.any()
        )


def one_at_a_time(session: Granted) -> bool:
    """Whether batches must be asked one after the other.

    A student's scores belong to queries that the last answers left open, budgets that are held to
    data-dependent costs hold back nothing for a batch under way, and an encrypted batch is paid for once it
    is evaluated: of two, a guardian that dies would cost both.
    """
    plan = session.plan
    dependent = plan.mechanism.takes_scores or session.grant.enforce == "data_dependent"
    return dependent or plan.encoding == "ckks"


KEY_BYTES = 8


def compose(pending: Sequence[int], size: int, random: Callable[[int], bytes]) -> list[int]:
    """`size` of the pending queries, or all where they are fewer, drawn in random order.

    Who asked a batch again as it was, after some party had left, would show the guardian two histograms of
    each query, whose difference is that party's ballot. What is asked again is therefore mixed with all else
    that is to be asked. `random` gives so many random bytes.
    """
    keys = np.frombuffer(random(KEY_BYTES * len(pending)), np.uint64)
    return [pending[at] for at in np.argsort(keys)[:size]]
