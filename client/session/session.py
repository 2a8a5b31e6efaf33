"""A session, batch by batch, so that an interruption anywhere loses no answer and repeats no sum."""

from collections.abc import Callable, Collection, Mapping, Sequence

from ostraka.client.session.answers import Answer
from ostraka.client.session.availability import Availability
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.batch_order import compose
from ostraka.client.session.batch_round import BatchRound
from ostraka.client.session.failure_limit import FailureLimit
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import close, settle
from ostraka.client.session.run_state import BatchState, GrantedCohort, GrantedParty, RunState, RunStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.telemetry.context import about
from ostraka.common.telemetry.tracing import span
from ostraka.protos.ostraka.v1 import common_pb2

STOPS = frozenset(
    {
        ErrorCode.BATCH_TOO_LARGE,
        ErrorCode.BUDGET_TOO_SMALL,
        ErrorCode.GRANT_EXPIRED,
        ErrorCode.POLICY_DAILY_LIMIT,
        ErrorCode.SESSION_ENDED,
    }
)
"""What ends the asking, with the labels that came kept. Answers that a blind tally lost count among the
queries that a session may ask."""
UNCERTAIN = frozenset(
    {
        ErrorCode.INTERNAL,
        ErrorCode.LEDGER_FENCED,
        ErrorCode.LEDGER_LOCKED,
        ErrorCode.LEDGER_UNREACHABLE,
        ErrorCode.SERVER_TIMEOUT,
        ErrorCode.SERVER_UNREACHABLE,
    }
)
"""Failures of a call after which the guardian may still have acted."""
RECOVERABLE = UNCERTAIN | {ErrorCode.BATCH_DEAD, ErrorCode.BATCH_RESTARTED, ErrorCode.QUORUM_LOST}
"""What ends a batch but, once it is settled, not the session: what is unanswered is asked again."""
SMALLER = frozenset({ErrorCode.BATCH_TOO_LARGE, ErrorCode.BUDGET_TOO_SMALL, ErrorCode.POLICY_DAILY_LIMIT})
"""Refusals of a ticket after which a batch of the size that they tell may be asked."""


class SessionDriver:
    """Drives one run's session; made by `open`."""

    def __init__(
        self,
        peers: Peers,
        store: RunStore,
        pool: Queries,
        on_progress: Callable[[RunState], None],
        granted: Granted,
        switches: Switches,
    ) -> None:
        """Take an open session; the `pool` is what may be asked, as the plan's parties take it."""
        self._peers = peers
        self._store = store
        self._pool = pool
        self._on_progress = on_progress
        self._granted = granted
        voting = switches.voting(peers, granted)
        self._availability = Availability(
            (participant.site for participant in granted.grant.participants),
            granted.plan.quorum,
            voting.unreachable,
        )
        self._round = BatchRound(
            peers.guardian,
            granted,
            self._availability,
            voting,
            switches.tally(peers, granted),
            switches.meter,
        )
        self._meter = switches.meter
        self._random = switches.random
        self._failures = FailureLimit(sum(len(known.cohorts) for known in granted.grant.participants))
        self._fits: int | None = None

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

        Batches left open by an interruption are settled.
        """
        plan_bytes = store.state.plan_bytes
        signed = peers.guardian.open_session(plan_bytes)
        grant = peers.permissions.grant(signed, plan_bytes)
        store.granted(
            grant.session_id, [_party(known) for known in grant.participants], grant.enforce, grant.bound
        )
        granted = Granted(plan_bytes, store.state.parsed_plan(), signed, grant)
        session = cls(peers, store, pool, on_progress, granted, switches)
        session._resume()
        return session

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self._availability.failures

    def run(self) -> None:
        """Ask until every query is settled, then close; leaves off and raises as `advance`."""
        everything = range(self._granted.plan.queries)
        while self._store.state.pending():
            if not self.advance(everything):
                return
        self.close()

    def advance(self, rows: Collection[int]) -> bool:
        """Ask one batch of those of these rows of the pool that are pending, drawn in random order.

        False where a public limit ended the asking; the store then tells why. Raises OstrakaError where going
        on needs somebody; asking again resumes.
        """
        pending = [row for row in self._store.state.pending() if row in rows]
        try:
            if pending:
                self._peers.permissions.require_current(self._granted.grant)
                self._ask(pending)
        except OstrakaError as error:
            if error.code not in STOPS:
                raise
            self._store.stop(error.code, error.message)
            return False
        return True

    def close(self) -> None:
        """End the session, of which nothing more will be asked."""
        close(self._peers.guardian, self._store.state.session_id)
        self._store.close()

    def _resume(self) -> None:
        self._on_progress(self._store.state)
        for batch in self._store.state.batches:
            if batch.status == "open":
                self._settle(batch)

    def _ask(self, pending: Sequence[int]) -> None:
        unavailable = self._availability.unavailable()
        limits = self._granted.plan.batch_size, self._granted.grant.max_batch, self._fits or len(pending)
        batch = self._store.begin(compose(pending, min(limits), self._random))
        ids = self._store.state.session_id, batch.id
        with about(*ids), span("batch", session=ids[0], batch=ids[1], queries=len(batch.queries)):
            self._run(batch, unavailable)

    def _run(self, batch: BatchState, unavailable: Sequence[str]) -> None:
        signed = self._open_batch(batch, unavailable)
        if signed is None:
            return
        try:
            ticket = self._read(signed, batch)
            self._store.ticketed(batch, ticket.schedule)
            released = self._round.run(
                ticket,
                self._pool.take(batch.queries),
                patient=not self._failures.next_is_last,
                on_frozen=lambda parties: self._begin_tally(batch, parties),
            )
        except OstrakaError as error:
            self._tell(batch, released=False)
            self._mourn(batch, error)
            return
        self._tell(batch, released=True)
        self._keep(batch, released.answers, released.parties)

    def _tell(self, batch: BatchState, *, released: bool) -> None:
        left_out = len(self._availability.failures)
        self._meter.batch(self._granted.plan, len(batch.queries), released=released, left_out=left_out)

    def _open_batch(self, batch: BatchState, unavailable: Sequence[str]) -> common_pb2.SignedList | None:
        """Return the batch's signed ticket, or None where a smaller batch is to be asked."""
        size, self._fits = len(batch.queries), None
        try:
            with self._meter.watching("guardian", "ticket"):
                session_id = self._store.state.session_id
                return self._peers.guardian.open_batch(session_id, batch.id, size, unavailable)
        except OstrakaError as error:
            if error.code in UNCERTAIN:
                self._mourn(batch, error)
                return None
            self._store.dead(batch)
            fits = error.details.get("fits") or error.details.get("left", "")
            if error.code not in SMALLER or not fits.isdecimal():
                raise
            if not 0 < int(fits) < size:
                raise
            self._fits = int(fits)
            return None

    def _read(self, signed: common_pb2.SignedList, batch: BatchState) -> Ticketed:
        granted = self._granted
        size, quorum = len(batch.queries), granted.plan.quorum
        read = self._peers.permissions.ticket(
            signed, granted.grant, batch_id=batch.id, size=size, quorum=quorum
        )
        ticket = Ticketed(signed, read)
        self._failures.begin(ticket.voters)
        return ticket

    def _mourn(self, batch: BatchState, error: OstrakaError) -> None:
        """Settle a batch that failed; raise unless its queries can be asked again."""
        self._failures.count()
        self._settle(batch)
        if error.code not in RECOVERABLE or self._failures.too_many:
            raise error

    def _begin_tally(self, batch: BatchState, parties: Sequence[str]) -> None:
        if self._granted.plan.tally == "blind":
            self._store.tallied(batch, parties)

    def _settle(self, batch: BatchState) -> None:
        """Learn what became of a batch: its answers, or that its queries are pending again."""
        answers = settle(self._peers.guardian, self._store, batch, self._granted.plan)
        if answers is not None:
            self._keep(batch, answers, ())

    def _keep(self, batch: BatchState, answers: Sequence[Answer], parties: Sequence[str]) -> None:
        self._store.released(batch, answers, parties)
        self._failures.clear()
        self._on_progress(self._store.state)


def _party(participant: common_pb2.Participant) -> GrantedParty:
    return GrantedParty(
        site=participant.site,
        teachers=participant.teachers,
        max_votes_per_person=participant.max_votes_per_person,
        cohorts=tuple(_cohort(cohort) for cohort in participant.cohorts),
        together=participant.together,
        abstains=tuple(participant.abstains),
    )


def _cohort(cohort: common_pb2.Cohort) -> GrantedCohort:
    copies = dict(zip(cohort.groups, cohort.copies, strict=True))
    return GrantedCohort(groups=copies, teachers=cohort.teachers, weight=cohort.weight / VOTE)
