"""A session, batch by batch, so that an interruption anywhere loses no answer and repeats no sum."""

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
    """Drives one run's session; made by `open`.

    While a batch is released, the parties vote on the next one already, and while they vote on that one, the
    one after it gets its ticket: `run` has two batches open at most. They are released in the order in which
    they were opened. One is open at a time where the next depends on what the last one came to
    (`one_at_a_time`), once a limit refused another beside it, and after one that died until the next release.
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
        """Open the session of a run's plan, new or the one that the same plan opened before.

        Batches left open by an interruption are settled. A grant that begins later was signed while a clock
        was wrong, and would begin then also once it is right: if nothing was asked under it, another session
        takes its place.
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
        """Ask until every query is settled, then close; leaves off and raises as `advance`."""
        if self._within_limits(self._ask_all):
            self.close()

    def advance(self, rows: Collection[int]) -> bool:
        """Ask one batch of the given rows of the pool that are pending, in random order.

        False where a public limit ended the asking; the store then tells why. Raises OstrakaError where going
        on needs somebody; asking again resumes.
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
        """Take every batch through the pipeline: its ticket, its votes, its release.

        `batch` is released while the parties vote on `following`; once it is, the one after that gets its
        ticket, which is `held` until the votes on `following` are in.
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
        """Have the parties vote on a new batch, if any is left to ask."""
        batch = self._take_ticket()
        if batch is not None:
            self.batches.ask(batch)
        return batch

    def _ask_following(self, held: OpenBatch | None) -> OpenBatch | None:
        """Have the parties vote on the batch whose ticket is `held`, while another is released.

        On a new batch if none is, or it was given back, and one may be open beside the other.
        """
        if held is not None:
            self.batches.ask(held)
            if not held.is_settled:
                return held
        return self._ask_next() if self.batches.overlaps else None

    def close(self) -> None:
        """End the session, of which nothing more will be asked."""
        close(self.peers.guardian, self.store.state.session_id)
        self.store.close()


def _is_public_limit(code: ErrorCode) -> bool:
    """Whether a refusal ends the asking with the labels that came kept: no smaller batch is left to ask.

    Answers that a blind tally lost count among the queries that a session may ask. A message that gRPC finds
    too large is no limit of the session: it is for somebody to look at.
    """
    smaller = code.retry is Retry.SMALLER and code is not ErrorCode.MESSAGE_TOO_LARGE
    return smaller or code in SESSION_OVER


def _open_session(peers: Peers, store: RunStore) -> Granted:
    """Open the session of the run's plan, and close the one that the run had under another nonce, if any."""
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
