"""Leads a training round by round, so that an interruption anywhere repeats no round and loses none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import STEP_BYTES, GuardianPeer, Sum
from ostraka.client.session.asking import ask_all, failures, unreachable
from ostraka.client.session.availability import Availability, FailureLimit
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.batch_round import BatchRound
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.recovery import SESSION_OVER, close, find_answers
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.client.session.votes import CollectedShares
from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.client.training.training_state import AveragedModel, Open, TrainingProgress, TrainingStore
from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError, Retry
from ostraka.common.mechanism import JointTraining
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.shares import expand
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(eq=False, repr=False, frozen=True)
class SeededShares(Mapping[str, RingArray]):
    """Shares (1, `width`) in `ring` by site, expanded when they are read: few are in memory at once."""

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
class UpdateCollector:
    """Has the parties of a round learn, each from the average and what it knows of its own updates.

    `counted` says by site which update of it counted last.
    """

    parties: Mapping[str, TrainingPeer]
    session: Granted
    counted: Mapping[str, int]
    clock: Clock

    def collect(self, ticket: Ticketed, queries: AveragedModel) -> CollectedShares:
        """Return this side's shares of the updates of all parties of the ticket, or why one gave none.

        Stragglers are cut off.
        """
        session = self.session
        work = Work(session.plan_bytes, session.entries, queries, ticket.entries)

        async def ask(site: str) -> bytes:
            return await self.parties[site].train(work, self.counted.get(site))

        waiting = Waiting(Patience.of(ticket, session, self.clock))
        came = run_async(ask_all(ticket.sites, ask, waiting))
        seeds = {site: seed for site, seed in came.items() if not isinstance(seed, OstrakaError)}
        return CollectedShares(SeededShares(seeds, len(queries.theta), session.plan.modulus), failures(came))


@dataclass(eq=False, repr=False, frozen=True)
class Summing:
    """Has the guardian release sums."""

    guardian: GuardianPeer
    session: Granted

    def answers(self, batch_id: int, total: RingArray, queries: AveragedModel) -> NDArray[np.int64]:
        """Return the sum that a round releases, (d,) in steps of 2^-16."""
        ring = self.session.plan.modulus
        rows, width = total.shape
        sent = Sum(ring.to_bytes(total), rows, width)
        released = self.guardian.release_update(self.session.grant.session_id, batch_id, sent)
        return read_update(released, width)


def read_update(data: bytes, width: int) -> NDArray[np.int64]:
    """Read a released sum, (width,); raise `message.invalid` for another size."""
    if len(data) != width * STEP_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            "The guardian released no sum of these parameters; use the same version everywhere.",
        )
    return np.frombuffer(data, "<i8").astype(np.int64)


STOPS = SESSION_OVER | {ErrorCode.BUDGET_TOO_SMALL}
"""What ends the rounds before the last one, with what teachers have learnt by then kept. A round has one
query, so that none is smaller; a day's limit is waited for by running again."""

OnProgress = Callable[[TrainingProgress], None]


class Lead:
    """Drives one training; made by `open`."""

    def __init__(
        self,
        guardian: GuardianPeer,
        parties: Mapping[str, TrainingPeer],
        permissions: Permissions,
        store: TrainingStore,
        granted: Granted,
        on_progress: OnProgress,
    ) -> None:
        """Take an open session and whom it concerns; `on_progress` is called after every round."""
        self._guardian = guardian
        self._parties = parties
        self._permissions = permissions
        self._store = store
        self._granted = granted
        self._on_progress = on_progress
        known = {participant.site: participant for participant in granted.grant.participants}
        self._known = known
        self._availability = Availability(
            known, granted.plan.quorum, lambda sites: unreachable(parties, sites)
        )
        self._failures = FailureLimit(len(known))

    @classmethod
    def open(
        cls,
        guardian: GuardianPeer,
        parties: Mapping[str, TrainingPeer],
        permissions: Permissions,
        store: TrainingStore,
        on_progress: OnProgress,
    ) -> "Lead":
        """Open the session of a training's plan, new or the one that the same plan opened before."""
        plan_bytes = store.plan_bytes
        signed = guardian.open_session(plan_bytes)
        grant = permissions.grant(signed, plan_bytes)
        store.keep(store.progress.with_values(session=grant.session_id))
        granted = Granted(plan_bytes, store.plan, signed, grant)
        return cls(guardian, parties, permissions, store, granted, on_progress)

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last round, and why."""
        return self._availability.failures

    def run(self) -> None:
        """Take all rounds, or those that budgets pay for, then have every party store its teachers.

        A round left open by an interruption is settled first. The session is closed at the end. Raises
        OstrakaError where going on needs somebody; running again goes on.
        """
        self._on_progress(self._store.progress)
        if self._store.progress.open is not None:
            self._settle()
        try:
            rounds = self._granted.plan.queries
            while not self._store.progress.stopped and self._store.progress.number < rounds:
                self._permissions.require_current(self._granted.grant)
                self._round()
        except OstrakaError as error:
            if error.code not in STOPS or self._store.progress.number == 0:
                raise
            self._store.keep(self._store.progress.with_values(stopped=error.message))
        self._finish()
        close(self._guardian, self._granted.grant.session_id)

    def _round(self) -> None:
        unavailable = self._availability.unavailable()
        batch_id = self._store.progress.batch
        # Durable before the guardian sees the id: an interrupted round is settled and its id not used again.
        self._store.keep(self._store.progress.with_values(batch=batch_id + 1, open=Open(batch=batch_id)))
        ticket = None
        try:
            ticket = self._ticket(batch_id, unavailable)
            answered = self._batch_round().run(
                ticket,
                self._store.average,
                patient=not self._failures.next_is_last,
                on_frozen=self._note_frozen,
            )
        except OstrakaError as error:
            self._failures.count(ticket and ticket.voters)
            self._settle()
            if error.code.retry is not Retry.SAME or self._failures.too_many:
                raise
            return
        self._apply_release(answered.answers)

    def _ticket(self, batch_id: int, unavailable: Sequence[str]) -> Ticketed:
        granted = self._granted
        signed = self._guardian.open_batch(granted.grant.session_id, batch_id, 1, unavailable)
        quorum = granted.plan.quorum
        read = self._permissions.ticket(signed, granted.grant, batch_id=batch_id, size=1, quorum=quorum)
        return Ticketed(signed, read)

    def _batch_round(self) -> BatchRound[AveragedModel, NDArray[np.int64]]:
        counted = self._store.progress.counted
        return BatchRound(
            self._guardian,
            self._granted,
            self._availability,
            UpdateCollector(self._parties, self._granted, counted, self._permissions.clock),
            Summing(self._guardian, self._granted),
        )

    def _note_frozen(self, parties: Sequence[str]) -> None:
        progress = self._store.progress
        assert progress.open is not None  # noqa: S101 - a round is under way
        known = progress.open.model_copy(update={"frozen": tuple(parties)})
        self._store.keep(progress.with_values(open=known))

    def _settle(self) -> None:
        """Learn whether the round that was under way was released, or is dead for good."""
        progress = self._store.progress
        assert progress.open is not None  # noqa: S101 - settled only then
        session_id = self._granted.grant.session_id
        batch_id = progress.open.batch
        if find_answers(self._guardian, session_id, batch_id) is not None:
            parameters = len(self._store.average.theta)
            update = self._guardian.released_update(session_id, batch_id, parameters)
            self._apply_release(read_update(update, parameters))
        else:
            self._store.keep(progress.with_values(open=None))

    def _apply_release(self, total: NDArray[np.int64]) -> None:
        """Move the average, and remember whose updates did it."""
        progress = self._store.progress
        mechanism = self._granted.plan.mechanism
        assert progress.open is not None  # noqa: S101 - a round was under way
        assert isinstance(mechanism, JointTraining)  # noqa: S101 - the plan of a training
        frozen = [self._known[site] for site in progress.open.frozen]
        average = self._store.average.after(
            mechanism,
            total,
            teachers_in=sum(one.teachers for one in frozen),
            teachers=sum(one.teachers for one in self._known.values()),
            records=sum(_records(one) for one in frozen),
        )
        counted = progress.counted | dict.fromkeys(progress.open.frozen, progress.open.batch)
        after = progress.with_values(
            number=average.number,
            open=None,
            counted=counted,
            taking_part=(*progress.taking_part, len(frozen)),
            taken=progress.taken | {one.site: progress.taken.get(one.site, 0) + 1 for one in frozen},
        )
        self._store.keep(after, average)
        self._failures.clear()
        self._on_progress(after)

    def _finish(self) -> None:
        """Have every party store its teachers that did not; raises where some cannot be reached."""
        work = Work(self._granted.plan_bytes, self._granted.entries, self._store.average)
        counted = self._store.progress.counted
        done = self._store.progress.finished
        missing = {site: self._parties[site] for site in self._known if site not in done}
        # All are asked, whatever one says: the others need not be asked again.
        failures = finish(missing, work, counted, self._note_stored)
        self._on_progress(self._store.progress)
        if failures:
            raise missing_teachers_error(failures)

    def _note_stored(self, site: str) -> None:
        progress = self._store.progress
        self._store.keep(progress.with_values(finished=(*progress.finished, site)))


def _records(participant: common_pb2.Participant) -> int:
    """Count the records whose gradients are in its updates, each as often as teachers have it."""
    return sum(
        copies * records
        for cohort in participant.cohorts
        for copies, records in zip(cohort.copies, cohort.records, strict=True)
    )


def finish(
    parties: Mapping[str, TrainingPeer],
    work: Work,
    counted: Mapping[str, int],
    on_stored: Callable[[str], None],
) -> dict[str, OstrakaError]:
    """Have parties store their teachers, all at once; return why some did not.

    `counted` says by site which update of it counted last. `on_stored` is told of each party that did, one
    call at a time.
    """

    async def ask(site: str) -> None:
        await parties[site].probe()
        await parties[site].finish(work, counted.get(site))
        on_stored(site)

    return failures(run_async(ask_all(parties, ask)))


def missing_teachers_error(failures: Mapping[str, OstrakaError]) -> OstrakaError:
    """Return the error for parties that did not store their teachers, with what each said."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in sorted(failures.items()))
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        "All rounds are done, and some parties did not store their teachers: run `ostraka party train`"
        f" there again, and this command. {reasons}",
    )
