"""Leading a training round by round: an interruption at any point repeats no round and loses none."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.session.asking import ask_all, failures
from ostraka.client.session.batch import Granted, Ticketed
from ostraka.client.session.permissions import Permissions
from ostraka.client.session.recovery import SESSION_OVER, close
from ostraka.client.session.stragglers import Patience, Waiting
from ostraka.client.session.summed_rounds import ReleasedSum, SeededShares, SummedRounds
from ostraka.client.session.votes import CollectedShares
from ostraka.client.training.peer import TrainingPeer, Work
from ostraka.client.training.training_state import AveragedModel, TrainingProgress, TrainingStore
from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import JointTraining
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(eq=False, repr=False, frozen=True)
class UpdateCollector:
    """Lets the parties of a round train, each from the average and its own control variates.

    `counted` is, by site, the batch of the site's last update that was counted.
    """

    parties: Mapping[str, TrainingPeer]
    session: Granted
    counted: Mapping[str, int]
    clock: Clock

    def collect(self, ticket: Ticketed, queries: AveragedModel) -> CollectedShares:
        """Return this side's shares of the updates of all parties in the ticket, or the party's error.

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


STOPS = SESSION_OVER | {ErrorCode.BUDGET_TOO_SMALL}
"""Errors that end the rounds before the last one and keep what was learned. A round has a single query, so it
cannot be made smaller; after a daily limit, running again resumes."""

IDLE_S = 60.0
"""Minimum time in seconds that a party which took part in no round gets for storing its teachers."""

OnProgress = Callable[[TrainingProgress], None]


class Lead:
    """Runs a training; made by `open`."""

    def __init__(
        self,
        guardian: GuardianPeer,
        parties: Mapping[str, TrainingPeer],
        permissions: Permissions,
        store: TrainingStore,
        granted: Granted,
        on_progress: OnProgress,
    ) -> None:
        """Take an open session with its guardian and parties; `on_progress` is called after every round."""
        self._guardian = guardian
        self._parties = parties
        self._clock = permissions.clock
        self._store = store
        self._granted = granted
        self._on_progress = on_progress
        self._known = {participant.site: participant for participant in granted.grant.participants}
        self._rounds = SummedRounds[AveragedModel](guardian, parties, permissions, granted, store)
        self._idle: Mapping[str, OstrakaError] = {}

    @classmethod
    def open(
        cls,
        guardian: GuardianPeer,
        parties: Mapping[str, TrainingPeer],
        permissions: Permissions,
        store: TrainingStore,
        on_progress: OnProgress,
    ) -> "Lead":
        """Open the session of a training's plan: a new one, or the one that the same plan opened before."""
        plan_bytes = store.plan_bytes
        signed = guardian.open_session(plan_bytes).grant
        grant = permissions.grant(signed, plan_bytes)
        store.keep(store.progress.with_values(session=grant.session_id))
        granted = Granted(plan_bytes, store.plan, signed, grant)
        return cls(guardian, parties, permissions, store, granted, on_progress)

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last round, or of all and stored no teachers, and why."""
        return {**self._rounds.left_out, **self._idle}

    def run(self) -> None:
        """Run all rounds, or as many as budgets pay for, then let every party store its teachers.

        A round left open by an interruption is settled first. The session is closed at the end. Raises
        OstrakaError if somebody has to act; running again resumes.
        """
        self._on_progress(self._store.progress)
        try:
            self._apply_release(self._rounds.settle())
            rounds = self._granted.plan.queries
            while not self._store.progress.stopped and self._store.progress.number < rounds:
                self._apply_release(self._rounds.take(self._store.average, self._collector()))
        except OstrakaError as error:
            if error.code not in STOPS or self._store.progress.number == 0:
                raise
            self._store.keep(self._store.progress.with_values(stopped=error.message))
        self._finish()
        close(self._guardian, self._granted.grant.session_id)

    def _collector(self) -> UpdateCollector:
        counted = self._store.progress.counted
        return UpdateCollector(self._parties, self._granted, counted, self._clock)

    def _apply_release(self, released: ReleasedSum | None) -> None:
        """Update the average, and record which parties' updates it contains."""
        if released is None:
            return
        progress = self._store.progress
        mechanism = self._granted.plan.mechanism
        assert isinstance(mechanism, JointTraining)  # noqa: S101 - the plan of a training
        frozen = [self._known[site] for site in released.parties]
        average = self._store.average.after(
            mechanism,
            released.total,
            teachers_in=sum(one.teachers for one in frozen),
            teachers=sum(one.teachers for one in self._known.values()),
            records=sum(_records(one) for one in frozen),
        )
        counted = progress.counted | dict.fromkeys(released.parties, released.batch)
        after = progress.with_values(
            number=average.number,
            open=None,
            counted=counted,
            taking_part=(*progress.taking_part, len(frozen)),
            taken=progress.taken | {one.site: progress.taken.get(one.site, 0) + 1 for one in frozen},
        )
        self._store.keep(after, average)
        self._on_progress(after)

    def _finish(self) -> None:
        """Let every party store its teachers unless it has; raise if parties fail that took part in a round.

        One that took part in none may be down for good, or lie: it ends no training of the others, and
        delays none.
        """
        work = Work(self._granted.plan_bytes, self._granted.entries, self._store.average)
        counted = self._store.progress.counted
        done = self._store.progress.finished
        missing = {site: self._parties[site] for site in self._known if site not in done}
        # All are asked even if one fails, so the others need not be asked again.
        taken = self._store.progress.taken
        failures = finish(missing, work, counted, self._note_stored, missing.keys() & taken.keys())
        self._on_progress(self._store.progress)
        missing_teachers = {site: error for site, error in failures.items() if site in taken}
        if missing_teachers:
            raise missing_teachers_error(missing_teachers)
        self._idle = failures

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
    awaited: Collection[str],
) -> dict[str, OstrakaError]:
    """Let all parties store their teachers concurrently; return the errors of those that failed.

    Args:
        parties: the parties, by site.
        work: the last average.
        counted: by site, the batch of the site's last update that was counted.
        on_stored: called for each party that succeeded, one call at a time.
        awaited: sites that are waited for; others are cut off `IDLE_S` seconds after the start, or once
            twice the time has passed in which all awaited ones had stored theirs.
    """

    async def ask(site: str) -> None:
        await parties[site].probe()
        await parties[site].finish(work, counted.get(site))
        on_stored(site)

    waiting = Waiting(Patience(IDLE_S, enough=lambda stored: set(awaited) <= set(stored)))
    return failures(run_async(ask_all(parties, ask, waiting)))


def missing_teachers_error(failures: Mapping[str, OstrakaError]) -> OstrakaError:
    """Return the error for parties that did not store their teachers, with each party's message."""
    reasons = "; ".join(f"{site}: [{error.code}] {error.message}" for site, error in sorted(failures.items()))
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        "All rounds are complete, but some parties did not store their teachers: run `ostraka party "
        f"train` there again, then this command. {reasons}",
    )
