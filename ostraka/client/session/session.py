"""A session, batch by batch: an interruption at any point loses no answer and repeats no sum."""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ostraka.client.session.batch import Granted, Peers, Queries
from ostraka.client.session.batches import Batches, OpenBatch
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import SESSION_OVER, close
from ostraka.client.session.run_state import GrantedCohort, GrantedParty, GroupTerms, RunState, RunStore
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.sharing.ballots import VOTE
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(eq=False, repr=False, frozen=True)
class SessionDriver:
    """Runs a session; made by `open`.

    Two batches are open at most. While one is released, the parties already vote on the next; while they
    vote, the batch after that gets its ticket. Batches are released in the order in which they were opened.
    Only one is open at a time if each depends on the result of the last (`one_at_a_time`), after a limit
    refused a second one, and after a dead batch until the next release.
    """

    peers: Peers
    store: RunStore
    granted: Granted
    batches: Batches

    @classmethod
    def open(
        cls,
        peers: Peers,
        store: RunStore,
        pool: Queries,
        on_progress: Callable[[RunState], None],
        switches: Switches,
    ) -> "SessionDriver":
        """Open the session of a run's plan: a new one, or the one that the same plan opened before.

        Batches left open by an interruption are settled. A grant that begins in the future was signed while a
        clock was wrong, and stays so after the clock is corrected: if nothing was asked under it, a new
        session replaces it.
        """
        granted = _open_session(peers, store)
        if peers.permissions.begins_later(granted.grant) and not store.state.batches:
            store.renew(switches.random(NONCE_BYTES))
            granted = _open_session(peers, store)
        batches = Batches(peers, store, pool, on_progress, granted, switches)
        on_progress(store.state)
        batches.settle_open()
        return cls(peers, store, granted, batches)

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self.batches.left_out

    def run(self) -> None:
        """Ask until every query is settled, then close; stops and raises as `advance` does."""
        if self._within_limits(self._ask_all):
            self.close()

    def advance(self, rows: Collection[int]) -> bool:
        """Ask one batch of those of the given pool rows that are pending, in random order.

        Returns False if a public limit ended the asking; the store then contains the reason. Raises
        OstrakaError if somebody has to act; asking again resumes.
        """
        return self._within_limits(lambda: self._ask_one(rows))

    def _within_limits(self, ask: Callable[[], None]) -> bool:
        try:
            ask()
        except OstrakaError as error:
            if not _is_public_limit(error.code):
                raise
            self.batches.settle_open()
            self.store.stop(error.code, error.message)
            return False
        return True

    def _ask_one(self, rows: Collection[int]) -> None:
        batch = self.batches.take_ticket(rows)
        if batch is not None:
            self.batches.finish(batch)

    def _ask_all(self) -> None:
        """Take every batch through the pipeline: ticket, votes, release.

        `batch` is released while the parties vote on `following`. Then the next batch gets its ticket and is
        `held` until the votes on `following` are in.
        """
        batch = self._ask_next()
        following = held = None
        try:
            while batch is not None:
                self.batches.collect_votes(batch)
                following = self._ask_following(held)
                self.batches.release(batch)
                held = self._take_ticket() if following is not None and self.batches.holds else None
                batch = following or self._ask_next()
        finally:
            for left in (batch, following, held):
                if left is not None:
                    left.close()

    def _take_ticket(self) -> OpenBatch | None:
        return self.batches.take_ticket(range(self.granted.plan.queries))

    def _ask_next(self) -> OpenBatch | None:
        """Start the vote on a new batch, if any query is left."""
        batch = self._take_ticket()
        if batch is not None:
            self.batches.ask(batch)
        return batch

    def _ask_following(self, held: OpenBatch | None) -> OpenBatch | None:
        """Start the vote on the batch whose ticket is `held`, while another one is released.

        If none is held, or it was given back, start a new batch if two may be open.
        """
        if held is not None:
            self.batches.ask(held)
            if not held.is_settled:
                return held
        return self._ask_next() if self.batches.overlaps else None

    def close(self) -> None:
        """Close the session; no more batches can be asked."""
        close(self.peers.guardian, self.store.state.session_id)
        self.store.close()


def _is_public_limit(code: ErrorCode) -> bool:
    """Whether a refusal ends the asking but keeps the labels so far: no smaller batch could be asked.

    Lost answers of a blind tally count towards the session's limit of queries. A message that is too large
    for gRPC is no limit of the session: somebody has to look at it.
    """
    smaller = code.retry is Retry.SMALLER and code is not ErrorCode.MESSAGE_TOO_LARGE
    return smaller or code in SESSION_OVER


def _open_session(peers: Peers, store: RunStore) -> Granted:
    """Open the session of the run's plan, and close an earlier session of the run with another nonce."""
    plan_bytes = store.state.plan_bytes
    before = store.state.session_id
    reply = peers.guardian.open_session(plan_bytes)
    signed = reply.grant
    grant = peers.permissions.grant(signed, plan_bytes)
    if before not in ("", grant.session_id):
        close(peers.guardian, before)
    terms: dict[str, dict[str, GroupTerms]] = defaultdict(dict)
    for unit in reply.units:
        terms[unit.site][unit.group] = GroupTerms(order=unit.order, delta=unit.delta)
    parties = [_party(known, terms[known.site]) for known in grant.participants]
    store.record_grant(grant.session_id, parties, grant.enforce, grant.bound)
    return Granted(plan_bytes, store.state.parse_plan(), signed, grant)


def _party(participant: common_pb2.Participant, terms: dict[str, GroupTerms]) -> GrantedParty:
    return GrantedParty(
        site=participant.site,
        teachers=participant.teachers,
        max_votes_per_person=participant.max_votes_per_person,
        cohorts=tuple(_cohort(cohort) for cohort in participant.cohorts),
        together=participant.together,
        abstains=tuple(participant.abstains),
        whole_persons=participant.whole_persons,
        terms=terms,
    )


def _cohort(cohort: common_pb2.Cohort) -> GrantedCohort:
    copies = dict(zip(cohort.groups, cohort.copies, strict=True))
    return GrantedCohort(groups=copies, teachers=cohort.teachers, weight=cohort.weight / VOTE)
