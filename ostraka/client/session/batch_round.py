"""One batch from ticket to answers: parties vote, the set of parties is frozen, the sum is tallied."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.session.availability import Availability, quorum_lost
from ostraka.client.session.batch import Granted, ReleasedBatch, Ticketed
from ostraka.client.session.meter import Meter
from ostraka.client.session.votes import CollectedShares
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ring import RingArray

Asked_contra = TypeVar("Asked_contra", contravariant=True)
Answers_co = TypeVar("Answers_co", covariant=True)
Q = TypeVar("Q")
A = TypeVar("A")


class Voting(Protocol[Asked_contra]):
    """Collects the parties' votes on queries, plain or encrypted."""

    def collect(self, ticket: Ticketed, queries: Asked_contra) -> CollectedShares:
        """Collect this side's shares of the ballots of every party in the ticket, or the party's error."""


class BatchTally(Protocol[Asked_contra, Answers_co]):
    """Turns a sum into answers: by sending it to the guardian, or by a blind tally."""

    def answers(self, batch_id: int, total: RingArray, queries: Asked_contra) -> Answers_co:
        """Return the answers of a frozen batch for the sum over its parties: ring values (queries, width)."""


@dataclass(eq=False, repr=False, frozen=True)
class BatchRound(Generic[Q, A]):
    """Runs batches of an open session with the parties and the guardian, with the plan's voting and tally."""

    guardian: GuardianPeer
    session: Granted
    availability: Availability
    voting: Voting[Q]
    tally: BatchTally[Q, A]
    meter: Meter = field(default_factory=Meter)

    def run(
        self,
        ticket: Ticketed,
        queries: Q,
        *,
        patient: bool,
        on_frozen: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> ReleasedBatch[A]:
        """Vote on and release a batch under its ticket: `collect`, `accept` and `release`."""
        votes = self.accept(self.collect(ticket, queries), patient=patient)
        return self.release(ticket, queries, votes, on_frozen=on_frozen)

    def collect(self, ticket: Ticketed, queries: Q) -> CollectedShares:
        """Collect the parties' votes on a batch; another thread may release an earlier batch meanwhile."""
        return self.voting.collect(ticket, queries)

    def accept(self, votes: CollectedShares, *, patient: bool) -> CollectedShares:
        """Return the votes, and leave out parties that failed, if the quorum allows it.

        If `patient`, a party's first restart ends the batch with `batch.restarted`, so it can vote on the
        next one.
        """
        for site, error in votes.failures.items():
            restarted = error.code is ErrorCode.BATCH_RESTARTED
            if patient and restarted and self.availability.excuses_restart(site):
                raise error
            self.availability.leave_out(site, error)
        self._require_quorum(votes)
        return votes

    def release(
        self,
        ticket: Ticketed,
        queries: Q,
        votes: CollectedShares,
        *,
        on_frozen: Callable[[Sequence[str]], None] = lambda _: None,
    ) -> ReleasedBatch[A]:
        """Release a batch that was voted on; `on_frozen` receives the parties before their sum is tallied.

        Parties whose ballots or shares did not reach the guardian are left out, if the quorum allows it.
        """
        batch_id = ticket.read.batch_id
        accepted = self._verify(votes)
        frozen = self._freeze(batch_id, accepted)
        on_frozen(frozen)
        total = accepted.total(frozen, self.session.plan.modulus)
        return ReleasedBatch(self.tally.answers(batch_id, total, queries), frozen)

    def _verify(self, votes: CollectedShares) -> CollectedShares:
        """Remove the votes that the guardian refuses, if ballots are verified."""
        if votes.verification is None:
            return votes
        with self.meter.watching("guardian", "verify"):
            refused = self.guardian.verify_ballots(votes.verification)
        errors = {site: _ballots_refused(site) for site in refused & set(votes.shares)}
        for site, error in errors.items():
            self.availability.leave_out(site, error)
        accepted = votes.without(errors)
        self._require_quorum(accepted)
        return accepted

    def _require_quorum(self, votes: CollectedShares) -> None:
        if len(votes.shares) < self.session.plan.quorum:
            raise quorum_lost(len(votes.shares), self.session.plan.quorum, self.availability.failures)

    def _freeze(self, batch_id: int, votes: CollectedShares) -> tuple[str, ...]:
        held = sorted(votes.shares)
        quorum = self.session.plan.quorum
        with self.meter.watching("guardian", "prepare"):
            frozen, refused = self.guardian.prepare(
                self.session.grant.session_id, batch_id, held, votes.row_sums
            )
        for site in refused & set(held):
            self.availability.leave_out(site, _ballots_refused(site))
        if not set(frozen) <= set(held) or not len(set(frozen)) == len(frozen) >= quorum:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "The guardian fixed a set of parties that is too small, or has parties whose shares are "
                "missing here: nothing was sent; use the same version everywhere.",
            )
        for site in set(held) - set(frozen) - refused:
            error = OstrakaError(
                ErrorCode.PARTY_UNREACHABLE,
                f"Party {site} voted but did not reach the guardian in time: look at its log.",
            )
            self.availability.leave_out(site, error)
        return frozen


def _ballots_refused(site: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.BATCH_BALLOTS_REFUSED,
        f"Ballots of party {site} are refused, so it is left out: they are not valid votes of its "
        "teachers, or hold too much noise, or are a sum with a larger norm than its records allow, or "
        "this site passed on something else (which of these is not proved yet); tell the guardian's "
        "administrators.",
    )
