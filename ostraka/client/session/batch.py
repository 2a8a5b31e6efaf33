"""Data types of a session and its batches, shared by this package, and how a batch is drawn."""

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
    """The peers of a session: parties as `voters`, or for encrypted queries as `parties`.

    `pool` runs encrypted queries; its size is bounded, whatever the number of parties.
    """

    guardian: GuardianPeer
    voters: Mapping[str, Voter]
    parties: Mapping[str, PartyPeer]
    permissions: Permissions
    pool: Executor


@dataclass(frozen=True)
class Queries:
    """The queries of a batch: features, float32 (queries, columns), and for Interactive the student's scores.

    Scores are probabilities in units of 2^-16, uint32 (queries, classes). If queries are clusters, features
    are those of the clusters' records.
    """

    features: NDArray[np.float32] = field(repr=False)
    scores: NDArray[np.uint32] | None = field(default=None, repr=False)
    clusters: Clusters | None = None

    def __len__(self) -> int:
        return len(self.features) if self.clusters is None else self.clusters.count

    def take(self, rows: Sequence[int]) -> "Queries":
        """Return the queries at these rows, in that order; clusters are always asked all at once."""
        if self.clusters is not None:
            return Queries(self.features, self.scores, self.clusters.arrange(rows))
        at = list(rows)
        return Queries(self.features[at], None if self.scores is None else self.scores[at])


@dataclass(frozen=True)
class ReleasedBatch(Generic[A]):
    """A batch's answers, by query if they are labels, and the parties whose ballots were summed."""

    answers: A
    parties: tuple[str, ...]


@dataclass(frozen=True)
class Granted:
    """A session that the guardian granted: the plan as sent and as parsed, the grant as signed and as
    parsed."""

    plan_bytes: bytes
    plan: Plan
    signed: common_pb2.SignedList
    grant: common_pb2.Grant

    @cached_property
    def entries(self) -> SignedEntries:
        """The grant as each party sees it."""
        return SignedEntries(self.signed, (one.site for one in self.grant.participants))


@dataclass(frozen=True)
class Ticketed:
    """A batch's ticket, as the guardian signed it and as parsed."""

    signed: common_pb2.SignedList
    read: common_pb2.Ticket

    @cached_property
    def entries(self) -> SignedEntries:
        """The ticket as each party sees it."""
        return SignedEntries(self.signed, self.sites)

    @property
    def schedule(self) -> dict[str, tuple[str, ...]]:
        """For each site, the queries of each of its cohorts as in the ticket, in hex."""
        return {one.participant.site: tuple(map(bytes.hex, one.queries)) for one in self.read.schedule}

    @property
    def sites(self) -> tuple[str, ...]:
        """The parties that vote."""
        return tuple(one.participant.site for one in self.read.schedule)

    def fewest(self, sites: Collection[str]) -> int:
        """Return the minimum, over queries and labels, of how many of the `sites` vote on it."""
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
        """The cohorts that vote on any query, as (site, index of the cohort)."""
        return frozenset(
            (one.participant.site, place)
            for one in self.read.schedule
            for place, votes in enumerate(read_schedule(one, self.read.size))
            if votes.any()
        )


def one_at_a_time(session: Granted) -> bool:
    """Whether batches must be asked one after the other.

    With Interactive, a student's scores depend on which queries the last batch left unanswered. With
    data-dependent costs, nothing is reserved for a batch in progress. An encrypted batch is paid for after it
    was evaluated, so a guardian that crashes would cost both of two open batches.
    """
    plan = session.plan
    dependent = plan.mechanism.takes_scores or session.grant.enforce == "data_dependent"
    return dependent or plan.encoding == "ckks"


KEY_BYTES = 8


def compose(pending: Sequence[int], size: int, random: Callable[[int], bytes]) -> list[int]:
    """Draw `size` of the pending queries in random order, or all if there are fewer.

    If the same batch were asked again after a party had left, the guardian would see two histograms of each
    query, and their difference is that party's ballot. So queries that are asked again are mixed with all
    other pending queries. `random(n)` returns n random bytes.
    """
    keys = np.frombuffer(random(KEY_BYTES * len(pending)), np.uint64)
    return [pending[at] for at in np.argsort(keys)[:size]]
