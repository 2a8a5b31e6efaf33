"""Durable state of a run: its plan, its batches with their slowest parties, and the answers received."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from pydantic import AliasChoices, Field, ValidationError

from ostraka.client.session.answers import Answer, of_task
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.versions import read_versioned
from ostraka.common.mechanism import Ttac
from ostraka.common.plan.plan import Plan
from ostraka.common.validation import FrozenModel

STATE_FILE = "session.json"


class GrantedCohort(FrozenModel):
    """Teachers of a party that vote together, as in the grant.

    Attributes:
        groups: the groups of their training records, each with the number of teachers that one record
            touches.
        teachers: number of teachers.
        weight: weight of each vote, in votes.
    """

    groups: dict[str, int]
    teachers: int
    weight: float


class GroupTerms(FrozenModel):
    """The `order` and `delta` of a group's budget; order 0 means a Gaussian filter."""

    order: float
    delta: float


class GrantedParty(FrozenModel):
    """A party of the session, as in the grant; runs of earlier versions have no cohorts.

    `together` is how its teachers learned with other parties' teachers, if they did. `abstains` has the
    indices of the labels that they do not vote on. `whole_persons` is whether all records of a person went to
    the same teachers. `terms` has the terms of each group's budget, as far as the guardian sent them.
    """

    site: str
    teachers: int
    max_votes_per_person: int
    cohorts: tuple[GrantedCohort, ...] = Field(
        default=(), validation_alias=AliasChoices("cohorts", "cliques")
    )
    together: str = ""
    abstains: tuple[int, ...] = ()
    whole_persons: bool = False
    terms: dict[str, GroupTerms] = Field(default_factory=dict)


class Stop(FrozenModel):
    """Why a run stopped asking: a stable code and its sentence."""

    code: str
    message: str


class BatchState(FrozenModel):
    """Queries asked together.

    Attributes:
        id: the batch id, used once in a session.
        queries: rows of the pool, clusters, or distinct rows (see `copies`), in the order they were sent.
        status: "open" until the outcome is known: "released", "dead", or "lost". Lost batches were charged,
            but their answers never came, because of a blind tally or because the guardian dropped them; their
            queries are asked again.
        schedule: by site, the queries that each cohort votes on, as in the ticket, in hex; empty if every
            cohort votes on every query, or no ticket came.
        parties: whose ballots were released; empty if an interruption lost this, then it may be any party.
        answers: by query once released, None where the mechanism gave no answer; for several labels, those
            that the plan asks for.
        tallied: whether a blind tally was begun, whose check may be charged even without answers.
        charged: for a lost batch, by query, which answers were charged; if none, only the check was.
        last: the slowest parties: those cut off, or the one that answered last; empty before votes were in,
            and if only one party was asked.
    """

    id: int
    queries: tuple[int, ...]
    status: Literal["open", "released", "dead", "lost"] = "open"
    schedule: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    parties: tuple[str, ...] = ()
    answers: tuple[Answer, ...] = ()
    tallied: bool = False
    charged: tuple[tuple[bool, ...], ...] = ()
    last: tuple[str, ...] = ()


class Student(FrozenModel):
    """The querying party's own model in an Interactive run.

    Attributes:
        sha256: of the model's file, in hex.
        labels: for every row of the pool, the model's class index if it is confident, else None.
    """

    sha256: str
    labels: tuple[int | None, ...]


class RunState(FrozenModel):
    """Everything in RUN/session.json. It never contains votes, shares or seeds.

    Files of version 1 have no multi-label answers or students, version 2 no schedules, version 3 no blind
    tallies, version 4 not how teachers learned, version 5 no clusters, version 6 no slowest parties, version
    7 no `copies` (repeated records were asked one by one), and version 8 no terms of budgets. All are read,
    and written as version 9. `scale` is the factor by which the plan's noise was scaled to suit the voters,
    if it was. `clusters` has the cluster of each row of the pool, if clusters are the queries; `copies` has
    the query of each row, if rows repeat.
    """

    version: Literal[1, 2, 3, 4, 5, 6, 7, 8, 9] = 9
    task: str
    classes: tuple[str, ...]
    pool_sha256: str
    pool_size: int
    plan: str
    scale: float | None = None
    student: Student | None = None
    clusters: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()
    session_id: str = ""
    enforce: str = ""
    bound: str = ""
    parties: tuple[GrantedParty, ...] = ()
    batches: tuple[BatchState, ...] = ()
    stopped: Stop | None = None
    closed: bool = False

    @property
    def plan_bytes(self) -> bytes:
        """The serialized plan, the same bytes in every request."""
        return bytes.fromhex(self.plan)

    @property
    def unguaranteed(self) -> tuple[str, ...]:
        """The parties whose teachers learned by ttac, so their votes have no formal guarantee."""
        return tuple(party.site for party in self.parties if party.together == Ttac.together)

    def parse_plan(self) -> Plan:
        """Return the plan; raise `plan.invalid` if the file was changed by hand."""
        return Plan.parse(self.plan_bytes)

    def answers(self) -> dict[int, Answer]:
        """Return the answer to every query of a released batch, by pool row; None for an abstention.

        Multi-label answers have all labels of the task, None for those that the plan did not ask. All records
        of a cluster, and all copies of a record, have its answer.
        """
        found = self.by_query()
        query_of = self.clusters or self.copies
        if not query_of:
            return found
        return {row: found[query] for row, query in enumerate(query_of) if query in found}

    def by_query(self) -> dict[int, Answer]:
        """Return the answers by query (pool row, cluster, or distinct row), in rising order."""
        plan = self.parse_plan()
        labels = len(self.classes)
        found = {
            query: of_task(answer, plan, labels)
            for batch in self.batches
            if batch.status == "released"
            for query, answer in zip(batch.queries, batch.answers, strict=True)
        }
        return {query: found[query] for query in sorted(found)}

    def asked_rows(self) -> set[int]:
        """Return the rows of the pool that were or may be charged: those of all batches that are not dead."""
        asked = {query for batch in self.batches if batch.status != "dead" for query in batch.queries}
        query_of = self.clusters or self.copies
        return {row for row, query in enumerate(query_of) if query in asked} if query_of else asked

    def by_student(self) -> dict[int, int]:
        """Return the student's class index for each unanswered query that it is confident about."""
        if self.student is None:
            return {}
        own = {query: self.student.labels[query] for query, given in self.answers().items() if given is None}
        return {query: label for query, label in own.items() if label is not None}

    def count_lost(self) -> int:
        """Return how many queries were charged without their answers ever arriving; each time counts."""
        return sum(len(batch.queries) for batch in self.batches if batch.status == "lost")

    @property
    def repeated(self) -> int:
        """How many rows of the pool repeat another row, and share its answer."""
        return len(self.copies) - len(set(self.copies))

    def first_rows(self) -> set[int]:
        """Return the first row of each query; all rows if none repeats."""
        if not self.copies:
            return set(range(self.pool_size))
        return set({query: row for row, query in reversed(list(enumerate(self.copies)))}.values())

    def pending(self) -> list[int]:
        """Return the queries of the plan that no batch has settled."""
        settled = self.by_query()
        return [query for query in range(self.parse_plan().queries) if query not in settled]


class RunStore:
    """A run's state on disk, replaced as a whole at every change; one thread uses it."""

    def __init__(self, folder: Path, state: RunState) -> None:
        """Take an existing folder and its state, stored or about to be."""
        self._path = folder / STATE_FILE
        self._state = state

    @classmethod
    def create(cls, folder: Path, state: RunState) -> Self:
        """Create the store of a new run; the state is durable on return."""
        store = cls(folder, state)
        store._save()
        return store

    @property
    def state(self) -> RunState:
        """The state as last saved."""
        return self._state

    def batch(self, batch_id: int) -> BatchState:
        """Return a batch as last saved."""
        return next(batch for batch in self._state.batches if batch.id == batch_id)

    def renew(self, nonce: bytes) -> None:
        """Save the plan with another nonce, so a new session can be opened with it.

        For a run that never began a batch: whoever opens the next session closes the one before.
        """
        plan = self._state.parse_plan().model_copy(update={"nonce": nonce})
        self._update(plan=plan.serialize().hex())

    def record_grant(
        self, session_id: str, parties: Iterable[GrantedParty], enforce: str, bound: str
    ) -> None:
        """Store the grant's contents."""
        self._update(session_id=session_id, parties=tuple(parties), enforce=enforce, bound=bound)

    def begin(self, queries: Iterable[int]) -> BatchState:
        """Open a new batch of these rows under an unused id; it is durable on return."""
        batch = BatchState(id=len(self._state.batches) + 1, queries=tuple(queries))
        self._update(batches=(*self._state.batches, batch), stopped=None)
        return batch

    def record_ticket(self, batch: BatchState, schedule: Mapping[str, tuple[str, ...]]) -> None:
        """Store who votes on what in a batch, before any party is asked."""
        self._change(batch, schedule=dict(schedule))

    def record_last(self, batch: BatchState, last: Iterable[str]) -> None:
        """Store which parties answered last."""
        self._change(batch, last=tuple(last))

    def record_tally(self, batch: BatchState, parties: Iterable[str]) -> None:
        """Store that a blind tally of these parties' ballots is about to begin."""
        self._change(batch, tallied=True, parties=tuple(parties))

    def record_answers(self, batch: BatchState, answers: Iterable[Answer], parties: Iterable[str]) -> None:
        """Store a batch's answers, in the order of its queries."""
        self._change(batch, status="released", answers=tuple(answers), parties=tuple(parties))

    def record_loss(self, batch: BatchState, charged: Iterable[Iterable[bool]]) -> None:
        """Store that a batch was charged but its answers were lost; its queries are pending again."""
        self._change(batch, status="lost", charged=tuple(map(tuple, charged)))

    def record_death(self, batch: BatchState) -> None:
        """Store that a batch will never be released; its queries are pending again."""
        self._change(batch, status="dead")

    def stop(self, code: ErrorCode, message: str) -> None:
        """Store why no further batch was asked."""
        self._update(stopped=Stop(code=code.value, message=message))

    def close(self) -> None:
        """Store that every query is settled and the session closed."""
        self._update(closed=True)

    def _change(self, batch: BatchState, **fields: object) -> None:
        batches = tuple(
            known.model_copy(update=fields) if known.id == batch.id else known
            for known in self._state.batches
        )
        self._update(batches=batches)

    def _update(self, **fields: object) -> None:
        self._state = self._state.model_copy(update={"version": 9, **fields})
        self._save()

    def _save(self) -> None:
        write_atomic(self._path, self._state.model_dump_json(indent=1))


def load_state(folder: Path) -> RunState:
    """Return the state of a run.

    Raises:
        OstrakaError: `data.missing` if there is no file, `data.newer` for a later version's, `run.mismatch`
            for a damaged one.
    """
    path = folder / STATE_FILE
    try:
        return read_versioned(path, RunState)
    except FileNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"{folder} holds no run: make one with `ostraka query label`.",
        ) from exc
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{path} cannot be read as the state of a run: restore it, or label into a new folder.",
        ) from exc


SHOWN = 5
"""Maximum number of entries that a sentence lists."""


@dataclass(frozen=True)
class Latecomers:
    """How often each party was the last to answer, or was cut off.

    A party may be slow because of its machine or on purpose, which nobody can tell; this does not depend on
    votes.

    Attributes:
        batches: number of batches whose votes were in.
        last: by party, the number of these batches in which it was last, highest first.
    """

    batches: int
    last: Mapping[str, int]

    @classmethod
    def of(cls, states: Iterable[RunState]) -> Self:
        """Count over runs; batches of earlier versions have no `last`."""
        known = [batch.last for state in states for batch in state.batches if batch.last]
        counted = Counter(site for last in known for site in last)
        ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        return cls(len(known), dict(ordered))

    def __str__(self) -> str:
        """Return a sentence like "Last in 9 of 10 batches: beta; in 1: gamma."; empty if there are none."""
        batches = count_text(self.batches, "batch", "batches")
        told = [f"in {count} of {batches}: {site}" for site, count in self.last.items()]
        return f"Last {'; '.join(told[:SHOWN])}." if told else ""
