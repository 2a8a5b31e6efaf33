"""Batches of a session: each is a state machine that moves step by step, so several can be open at once.

`Held` has its ticket, `Collecting` is being voted on, `Collected` has its votes. For a batch that is
`Settled`, the store records the outcome: released, dead, or lost. One thread makes all steps; another
collects votes.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

from ostraka.client.session.answers import Answer
from ostraka.client.session.availability import Availability, FailureLimit
from ostraka.client.session.batch import (
    Granted,
    Peers,
    Queries,
    ReleasedBatch,
    Ticketed,
    compose,
    one_at_a_time,
)
from ostraka.client.session.batch_round import BatchRound
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import settle
from ostraka.client.session.run_state import BatchState, RunState, RunStore
from ostraka.client.session.votes import CollectedShares
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.telemetry.context import Scope, about, carrying
from ostraka.common.telemetry.tracing import span
from ostraka.protos.ostraka.v1 import common_pb2

NO_BATCH = frozenset({ErrorCode.BATCH_DEAD, ErrorCode.QUORUM_LOST})
"""Refusals of a ticket that allow a retry and need no settling: the guardian has decided that no batch
exists."""
HELD_S = 5.0
"""Seconds: if voting takes longer, no ticket is taken meanwhile, because a ticket's lifetime is for its own
votes. A ticket that was held for longer is given back."""


@dataclass(frozen=True)
class Held:
    """The batch got its ticket at `taken`, by the meter's timer; no party was asked yet."""

    ticket: Ticketed
    taken: float


@dataclass(frozen=True)
class Collecting:
    """The parties have been voting since `began`, by the meter's timer."""

    ticket: Ticketed
    queries: Queries = field(repr=False)
    votes: Future[CollectedShares] = field(repr=False)
    began: float


@dataclass(frozen=True)
class Collected:
    """The parties have voted, and there are enough votes."""

    ticket: Ticketed
    queries: Queries = field(repr=False)
    votes: CollectedShares = field(repr=False)


@dataclass(frozen=True)
class Answered:
    """The guardian has released the batch; its answers are not stored yet."""

    released: ReleasedBatch[list[Answer]] = field(repr=False)


@dataclass(frozen=True)
class Settled:
    """The batch is finished: the store records its outcome."""


State = Held | Collecting | Collected | Answered | Settled


class OpenBatch:
    """A batch that steps move from state to state, inside its scope of logs and traces."""

    def __init__(self, record: BatchState, scope: Scope, begin: Callable[[], State]) -> None:
        """Take the batch's record in the store and its first step, which runs at once."""
        self.record = record
        self._scope = scope
        self.move(begin)

    @property
    def is_settled(self) -> bool:
        """Whether the batch is finished."""
        return isinstance(self.state, Settled)

    def move(self, step: Callable[[], State]) -> None:
        """Run a step to the next state; a step that raises settles the batch."""
        self.state: State = Settled()
        self.state = self._scope.run(step)
        if self.is_settled:
            self.close()

    def close(self) -> None:
        """Stop stepping; if the batch is not settled, whoever opens the session next settles it."""
        self._scope.close()


class Batches:
    """Asks the batches of one session; the caller decides how many are open by taking their tickets.

    A failed batch is settled before another one is begun: its queries are pending again.
    """

    def __init__(
        self,
        peers: Peers,
        store: RunStore,
        pool: Queries,
        on_progress: Callable[[RunState], None],
        granted: Granted,
        switches: Switches,
    ) -> None:
        """Take an open session; `pool` has all queries that may be asked, in the parties' format."""
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
        self._largest = min(granted.plan.batch_size, granted.grant.max_batch)
        self._size = self._largest
        self._alone = one_at_a_time(granted)
        self._counted_to = 0
        """The last batch that existed when a failure was counted: batches up to it count as the same
        failure."""
        self._votes_s = 0.0
        self._collector = ThreadPoolExecutor(1, thread_name_prefix="votes")

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self._availability.failures

    @property
    def overlaps(self) -> bool:
        """Whether two batches may be open at the same time."""
        return not self._alone and not self._failures.any

    @property
    def holds(self) -> bool:
        """Whether the next ticket may be taken while the parties vote on another batch."""
        return self.overlaps and self._votes_s <= HELD_S

    def settle_open(self) -> None:
        """Settle all open batches, for example after an interruption."""
        for record in self._open_records():
            self._settle(record)

    def _open_records(self) -> list[BatchState]:
        return [record for record in self._store.state.batches if record.status == "open"]

    def take_ticket(self, rows: Collection[int]) -> OpenBatch | None:
        """Take a ticket for a batch of the given rows that are pending; None if there are none.

        If the guardian accepts only a smaller batch, or none beside an open one, the batch is settled at
        once. While another batch is open, an expired grant or a lost quorum returns None; it is raised once
        that batch has ended.
        """
        beside = self._open_records()
        asked = {query for record in beside for query in record.queries}
        pending = [row for row in self._store.state.pending() if row in rows and row not in asked]
        if not pending:
            return None
        try:
            self._peers.permissions.require_current(self._granted.grant)
            unavailable = self._availability.unavailable()
        except OstrakaError:
            if not beside:
                raise
            return None
        record = self._store.begin(compose(pending, self._size, self._random))
        session_id = self._store.state.session_id
        scope = Scope(
            about(session_id, record.id),
            span("batch", session=session_id, batch=record.id, queries=len(record.queries)),
        )
        return OpenBatch(record, scope, partial(self._open, record, unavailable, beside=bool(beside)))

    def ask(self, batch: OpenBatch) -> None:
        """Start the vote on a batch that has its ticket.

        A ticket is given back before any party is asked if it was held too long or contains a party that has
        failed since.
        """
        held = batch.state
        if isinstance(held, Held):
            self._move(batch, held.ticket, partial(self._begin_votes, batch.record, held))

    def collect_votes(self, batch: OpenBatch) -> None:
        """Wait for the votes on a batch."""
        collecting = batch.state
        if isinstance(collecting, Collecting):
            self._move(batch, collecting.ticket, partial(self._collect, batch.record, collecting))

    def release(self, batch: OpenBatch) -> None:
        """Release a batch that was voted on, and store its answers."""
        collected = batch.state
        if isinstance(collected, Collected):
            self._move(batch, collected.ticket, partial(self._release, batch.record, collected))
        answered = batch.state
        if isinstance(answered, Answered):
            batch.move(partial(self._store_released, batch.record, answered.released))

    def finish(self, batch: OpenBatch) -> None:
        """Run all remaining steps of a batch."""
        self.ask(batch)
        self.collect_votes(batch)
        self.release(batch)

    def _move(self, batch: OpenBatch, ticket: Ticketed, step: Callable[[], State]) -> None:
        batch.move(partial(self._attempt, batch.record, ticket, step))

    def _attempt(self, record: BatchState, ticket: Ticketed | None, step: Callable[[], State]) -> State:
        """Run a step and return its state; settle a batch that fails, and raise if it cannot be retried."""
        try:
            return step()
        except OstrakaError as error:
            self._report(record, released=False)
            self._settle_failed(record, error, ticket)
            return Settled()

    def _open(self, record: BatchState, unavailable: Sequence[str], *, beside: bool) -> State:
        # A refusal's smaller size applied to this batch only: the next one has the full size again.
        self._size = self._largest
        try:
            with self._meter.watching("guardian", "ticket"):
                signed = self._peers.guardian.open_batch(
                    self._store.state.session_id, record.id, len(record.queries), unavailable
                )
        except OstrakaError as error:
            self._settle_refused(record, error, beside=beside)
            return Settled()
        return self._attempt(record, None, partial(self._hold, record, signed))

    def _settle_refused(self, record: BatchState, error: OstrakaError, *, beside: bool) -> None:
        """Settle a batch without a ticket; raise unless a smaller one, or one not `beside` another, fits."""
        if error.code.retry is Retry.SAME and error.code not in NO_BATCH:
            # The guardian may have issued the ticket nevertheless.
            self._settle_failed(record, error, None)
            return
        self._store.record_death(record)
        if beside:
            self._alone = True
            return
        fits = error.details.get("fits") or error.details.get("left", "")
        if error.code.retry is not Retry.SMALLER or not fits.isdecimal():
            raise error
        if not 0 < int(fits) < len(record.queries):
            raise error
        self._size = int(fits)

    def _hold(self, record: BatchState, signed: common_pb2.SignedList) -> State:
        read = self._peers.permissions.ticket(
            signed,
            self._granted.grant,
            batch_id=record.id,
            size=len(record.queries),
            quorum=self._granted.plan.quorum,
        )
        held = Held(Ticketed(signed, read), self._meter.timer())
        # Stored before any party is asked: the run's costs depend on who voted on what.
        self._store.record_ticket(record, held.ticket.schedule)
        return held

    def _begin_votes(self, record: BatchState, held: Held) -> State:
        late = self._meter.timer() - held.taken > HELD_S
        if late or self._availability.failures.keys() & set(held.ticket.sites):
            self._settle(record)
            return Settled()
        queries = self._pool.take(record.queries)
        began = self._meter.timer()
        votes = self._collector.submit(carrying(self._round.collect), held.ticket, queries)
        return Collecting(held.ticket, queries, votes, began)

    def _collect(self, record: BatchState, collecting: Collecting) -> State:
        came = collecting.votes.result()
        self._votes_s = self._meter.timer() - collecting.began
        self._store.record_last(record, came.last)
        votes = self._round.accept(came, patient=not self._failures.next_is_last)
        return Collected(collecting.ticket, collecting.queries, votes)

    def _release(self, record: BatchState, collected: Collected) -> State:
        released = self._round.release(
            collected.ticket,
            collected.queries,
            collected.votes,
            on_frozen=partial(self._begin_tally, record),
        )
        return Answered(released)

    def _begin_tally(self, record: BatchState, parties: Sequence[str]) -> None:
        if self._granted.plan.tally == "blind":
            self._store.record_tally(record, parties)

    def _store_released(self, record: BatchState, released: ReleasedBatch[list[Answer]]) -> State:
        self._report(record, released=True)
        self._store_answers(record, released.answers, released.parties)
        return Settled()

    def _store_answers(self, record: BatchState, answers: Sequence[Answer], parties: Sequence[str]) -> None:
        self._store.record_answers(record, answers, parties)
        self._failures.clear()
        self._on_progress(self._store.state)

    def _report(self, record: BatchState, *, released: bool) -> None:
        left_out = len(self._availability.failures)
        self._meter.batch(self._granted.plan, len(record.queries), released=released, left_out=left_out)

    def _settle_failed(self, record: BatchState, error: OstrakaError, ticket: Ticketed | None) -> None:
        """Settle a batch that failed; raise unless its queries can be asked again.

        If another open batch has already died, both count as one failure, unless this one was charged.
        """
        counted = record.id <= self._counted_to
        voters = None if ticket is None else ticket.voters
        if not counted:
            self._failures.count(voters)
            self._counted_to = len(self._store.state.batches)
        self._settle(record)
        if counted and self._store.batch(record.id).status == "lost":
            self._failures.count(voters)
        if error.code.retry is not Retry.SAME or self._failures.too_many:
            raise error

    def _settle(self, record: BatchState) -> None:
        """Ask the guardian for the batch's outcome: store its answers, or its queries are pending again."""
        answers = settle(self._peers.guardian, self._store, record, self._granted.plan)
        if answers is not None:
            self._store_answers(record, answers, ())
