"""Rounds of an open session that each release one sum: an interruption repeats none and loses none."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.async_peer import AsyncPeer
from ostraka.client.peers.guardian_peer import STEP_BYTES, GuardianPeer, Sum
from ostraka.client.session.asking import unreachable
from ostraka.client.session.availability import Availability, FailureLimit
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.batch_round import BatchRound, Voting
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.recovery import find_answers
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.shares import expand
from ostraka.common.validation import FrozenModel

Q = TypeVar("Q")


class OpenRound(FrozenModel):
    """A round that was begun and has no known outcome yet.

    `frozen` are the parties in its sum, empty until the set is frozen.
    """

    batch: int
    frozen: tuple[str, ...] = ()


class RoundStore(Protocol):
    """Durable storage of rounds: whatever is stored survives a killed process."""

    @property
    def open_round(self) -> OpenRound | None:
        """The round in progress."""

    def begin_round(self) -> int:
        """Store that a round begins, under an unused batch id, and return the id."""

    def keep_ticket(self, ticket: Ticketed) -> None:
        """Store the ticket's contents for the round in progress, before any party is asked."""

    def keep_frozen(self, parties: Sequence[str]) -> None:
        """Store which parties are in the sum of the round in progress."""

    def drop_round(self) -> None:
        """Store that the round in progress is dead."""


@dataclass(frozen=True)
class ReleasedSum:
    """The result of a round: int64 (width,) in steps of 2^-16, over the records of these parties."""

    batch: int
    parties: tuple[str, ...]
    total: NDArray[np.int64]


@dataclass(eq=False, repr=False, frozen=True)
class SeededShares(Mapping[str, RingArray]):
    """Shares (1, `width`) in `ring` by site, expanded when they are read, so few are in memory at once."""

    seeds: Mapping[str, bytes]
    width: int
    ring: Modulus

    def __getitem__(self, site: str) -> RingArray:
        return expand(self.seeds[site], 1, self.width, self.ring)

    def __iter__(self) -> Iterator[str]:
        return iter(self.seeds)

    def __len__(self) -> int:
        return len(self.seeds)


@dataclass(eq=False, repr=False, frozen=True)
class Summing:
    """Releases sums through the guardian, for any kind of question."""

    guardian: GuardianPeer
    session: Granted

    def answers(self, batch_id: int, total: RingArray, queries: object) -> NDArray[np.int64]:
        """Return the sum that a round releases, (width,) in steps of 2^-16."""
        ring = self.session.plan.modulus
        rows, width = total.shape
        sent = Sum(ring.to_bytes(total), rows, width)
        released = self.guardian.release_update(self.session.grant.session_id, batch_id, sent)
        return read_sum(released, width)


def read_sum(data: bytes, width: int) -> NDArray[np.int64]:
    """Parse a released sum, (width,); raise `message.invalid` if its size is wrong."""
    if len(data) != width * STEP_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"The guardian released no sum of {width} values; use the same version everywhere.",
        )
    return np.frombuffer(data, "<i8").astype(np.int64)


class SummedRounds(Generic[Q]):
    """Runs the rounds of one session; each is settled before the next."""

    def __init__(
        self,
        guardian: GuardianPeer,
        parties: Mapping[str, AsyncPeer],
        permissions: Permissions,
        granted: Granted,
        store: RoundStore,
    ) -> None:
        """Take an open session, its guardian and its parties."""
        self._guardian = guardian
        self._permissions = permissions
        self._granted = granted
        self._store = store
        known = [participant.site for participant in granted.grant.participants]
        self._availability = Availability(
            known, granted.plan.quorum, lambda sites: unreachable(parties, sites)
        )
        self._failures = FailureLimit(len(known))

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last round, and why."""
        return self._availability.failures

    def take(self, asked: Q, voting: Voting[Q]) -> ReleasedSum | None:
        """Run a round and return its sum; None if the round died and can be repeated.

        Raises OstrakaError if somebody has to act.
        """
        self._permissions.require_current(self._granted.grant)
        unavailable = self._availability.unavailable()
        # Durable before the guardian sees the id: an interrupted round is settled, and its id never used
        # again.
        batch_id = self._store.begin_round()
        ticket = None
        try:
            ticket = self._ticket(batch_id, unavailable)
            self._store.keep_ticket(ticket)
            summing = Summing(self._guardian, self._granted)
            around = BatchRound(self._guardian, self._granted, self._availability, voting, summing)
            patient = not self._failures.next_is_last
            answered = around.run(ticket, asked, patient=patient, on_frozen=self._store.keep_frozen)
        except OstrakaError as error:
            self._failures.count(ticket and ticket.voters)
            found = self.settle()
            if found is not None:
                return found
            if error.code.retry is not Retry.SAME or self._failures.too_many:
                raise
            return None
        self._failures.clear()
        return ReleasedSum(batch_id, answered.parties, answered.answers)

    def settle(self) -> ReleasedSum | None:
        """Return the sum of the round in progress if it was released, else drop the round as dead."""
        under_way = self._store.open_round
        if under_way is None:
            return None
        session_id = self._granted.grant.session_id
        if find_answers(self._guardian, session_id, under_way.batch) is None:
            self._store.drop_round()
            return None
        width = self._granted.plan.mechanism.width(self._granted.plan.classes)
        released = self._guardian.released_update(session_id, under_way.batch, width)
        return ReleasedSum(under_way.batch, under_way.frozen, read_sum(released, width))

    def _ticket(self, batch_id: int, unavailable: Sequence[str]) -> Ticketed:
        granted = self._granted
        signed = self._guardian.open_batch(granted.grant.session_id, batch_id, 1, unavailable)
        quorum = granted.plan.quorum
        read = self._permissions.ticket(signed, granted.grant, batch_id=batch_id, size=1, quorum=quorum)
        return Ticketed(signed, read)
