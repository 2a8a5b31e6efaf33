"""Batches of a session, each asked in stages, so that two can be open at a time."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from ostraka.client.session.answers import Answer
from ostraka.client.session.availability import Availability, FailureLimit
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed, compose, one_at_a_time
from ostraka.client.session.batch_round import BatchRound
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import settle
from ostraka.client.session.run_state import BatchState, RunState, RunStore
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.telemetry.context import Stages, about, carrying
from ostraka.common.telemetry.tracing import span
from ostraka.protos.ostraka.v1 import common_pb2

NO_BATCH = frozenset({ErrorCode.BATCH_DEAD, ErrorCode.QUORUM_LOST})
"""Refusals of a ticket that are to be retried, and yet leave no batch to settle: the guardian decided it."""
HELD_S = 5.0
"""Where votes on a batch take longer, no ticket is taken meanwhile: its own time is for its votes. One that
was held for longer all the same is given back."""


class Batches:
    """Asks batches of one session; whoever begins them decides how many are open.

    What is left of one that failed is settled before another is begun: its queries are pending again.
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
        self._alone = one_at_a_time(granted)
        self._died_with, self._votes_s = 0, 0.0
        self._collecting = ThreadPoolExecutor(1, thread_name_prefix="votes")

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self._availability.failures

    @property
    def overlaps(self) -> bool:
        """Whether a batch may be open beside another."""
        return not self._alone and not self._failures.any

    @property
    def holds(self) -> bool:
        """Whether one may have its ticket already while the parties vote on another."""
        return self.overlaps and self._votes_s <= HELD_S

    def settle_open(self) -> None:
        """Learn what became of the batches that are open, such as those that an interruption left."""
        for batch in self._open_batches():
            self._settle(batch)

    def _open_batches(self) -> list[BatchState]:
        return [batch for batch in self._store.state.batches if batch.status == "open"]

    def begin(self, rows: Collection[int]) -> Stages | None:
        """Take a ticket for a batch of those of these rows that no batch asks or has settled, if any.

        Beside another batch, what forbids it is told once that one has ended: None until then.
        """
        beside = self._open_batches()
        asked = {query for batch in beside for query in batch.queries}
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
        limits = self._granted.plan.batch_size, self._granted.grant.max_batch, self._fits or len(pending)
        batch = self._store.begin(compose(pending, min(limits), self._random))
        stages = Stages(self._stages(batch, unavailable, beside=bool(beside)))
        stages.go_on()
        return stages

    def _stages(
        self, batch: BatchState, unavailable: Sequence[str], *, beside: bool
    ) -> Generator[None, None, None]:
        """Ask a batch; yields once it has its ticket, once parties are asked, and once they have answered.

        A ticket that was held too long, or that schedules a party that has failed since, is given back
        before anybody is asked.
        """
        ids = self._store.state.session_id, batch.id
        with about(*ids), span("batch", session=ids[0], batch=ids[1], queries=len(batch.queries)):
            signed = self._open_batch(batch, unavailable, beside=beside)
            if signed is None:
                return
            ticket = None
            try:
                ticket, taken = self._read(signed, batch), self._meter.timer()
                self._store.ticketed(batch, ticket.schedule)
                yield
                late = self._meter.timer() - taken > HELD_S
                if late or self._availability.failures.keys() & set(ticket.sites):
                    self._settle(batch)
                    return
                queries, began = self._pool.take(batch.queries), self._meter.timer()
                collecting = self._collecting.submit(carrying(self._round.collect), ticket, queries)
                yield
                collected, self._votes_s = collecting.result(), self._meter.timer() - began
                self._store.collected(batch, collected.last)
                votes = self._round.received(collected, patient=not self._failures.next_is_last)
                yield
                released = self._round.release(
                    ticket, queries, votes, on_frozen=lambda parties: self._begin_tally(batch, parties)
                )
            except OstrakaError as error:
                self._tell(batch, released=False)
                self._mourn(batch, error, ticket)
                return
            self._tell(batch, released=True)
            self._keep(batch, released.answers, released.parties)

    def _tell(self, batch: BatchState, *, released: bool) -> None:
        left_out = len(self._availability.failures)
        self._meter.batch(self._granted.plan, len(batch.queries), released=released, left_out=left_out)

    def _open_batch(
        self, batch: BatchState, unavailable: Sequence[str], *, beside: bool
    ) -> common_pb2.SignedList | None:
        """Return the batch's signed ticket, or None where a smaller one, or none `beside` another, fits."""
        size, self._fits = len(batch.queries), None
        try:
            with self._meter.watching("guardian", "ticket"):
                session_id = self._store.state.session_id
                return self._peers.guardian.open_batch(session_id, batch.id, size, unavailable)
        except OstrakaError as error:
            if error.code.retry is Retry.SAME and error.code not in NO_BATCH:
                self._mourn(batch, error)
                return None
            self._store.dead(batch)
            if beside:
                self._alone = True
                return None
            fits = error.details.get("fits") or error.details.get("left", "")
            if error.code.retry is not Retry.SMALLER or not fits.isdecimal():
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
        return Ticketed(signed, read)

    def _mourn(self, batch: BatchState, error: OstrakaError, ticket: Ticketed | None = None) -> None:
        """Settle a batch that failed; raise unless its queries can be asked again.

        One that was open beside another that died counts as one with it, unless it was charged.
        """
        beside, voters = batch.id <= self._died_with, ticket and ticket.voters
        if not beside:
            self._failures.count(voters)
            self._died_with = len(self._store.state.batches)
        self._settle(batch)
        if beside and self._store.batch(batch.id).status == "lost":
            self._failures.count(voters)
        if error.code.retry is not Retry.SAME or self._failures.too_many:
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
