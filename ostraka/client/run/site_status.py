"""Status of a querying site: certificates, servers, its sessions, and the progress of a run."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ostraka.client.run.site import load_query_site
from ostraka.client.session.run_state import STATE_FILE, Latecomers, RunState, Stop, load_state
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.status import shown
from ostraka.common.status.servers import (
    CertificateStatus,
    Problem,
    Server,
    certificates_of,
    guardians,
    parties,
    standing,
)
from ostraka.protos.ostraka.v1 import guardian_pb2


@dataclass(frozen=True)
class RunStatus:
    """One run, as in its session.json.

    Attributes:
        run: its folder.
        session_id: the guardian's id; empty before the grant.
        state: "done", "stopped" or "open".
        queries: number of queries in its plan.
        settled: how many of them are settled.
        batches: number of batches by outcome: "open", "released", "dead", "lost".
        changed_unix_s: time of its last progress.
        latecomers: the slowest parties.
        stopped: the limit that it met, if any.
        next: what to do now.
    """

    run: str
    session_id: str
    state: str
    queries: int
    settled: int
    batches: dict[str, int]
    changed_unix_s: int
    latecomers: Latecomers
    stopped: Stop | None
    next: str


def run_statuses(folder: Path) -> list[RunStatus]:
    """Return the run in `folder`, or all runs of rounds or dependencies in it, in order.

    Raises:
        OstrakaError: data.missing if there is none, run.mismatch if one cannot be read.
    """
    found = sorted(folder.rglob(STATE_FILE), key=lambda path: (path.stat().st_mtime, path))
    sums = SumStore.load(folder)
    if sums is not None:
        return [_sums_status(sums)]
    if not found:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"{folder} holds no run: make one with `ostraka query label`."
        )
    return [_status(path.parent) for path in found]


def _status(folder: Path) -> RunStatus:
    state = load_state(folder)
    plan = state.parse_plan()
    statuses = [batch.status for batch in state.batches]
    return RunStatus(
        run=str(folder),
        session_id=state.session_id,
        state="done" if state.closed else "stopped" if state.stopped else "open",
        queries=plan.queries,
        settled=plan.queries - len(state.pending()),
        batches={status: statuses.count(status) for status in ("open", "released", "dead", "lost")},
        changed_unix_s=int((folder / STATE_FILE).stat().st_mtime),
        latecomers=Latecomers.of([state]),
        stopped=state.stopped,
        next=_next(state),
    )


def _sums_status(sums: SumStore) -> RunStatus:
    """Return the progress of a run of sums: each round counts as a query, and as a batch."""
    state = sums.state
    rounds = sums.plan.queries
    released = len(state.kept)
    done = released == rounds
    return RunStatus(
        run=str(sums.folder),
        session_id=state.session,
        state="done" if done else "open",
        queries=rounds,
        settled=released,
        batches={"open": int(state.open is not None), "released": released, "dead": 0, "lost": 0},
        changed_unix_s=int(sums.changed_unix_s),
        latecomers=Latecomers.of([]),
        stopped=None,
        next="The run is complete: `ostraka query report`." if done else GO_ON,
    )


GO_ON = "If no process is running it, repeat the command that began it, with the same options."


def _next(state: RunState) -> str:
    if state.closed:
        return "The run is complete: `ostraka query retrain` or `ostraka query report`."
    if state.stopped is not None:
        return state.stopped.message
    return GO_ON


@dataclass(frozen=True)
class OwnSession:
    """A session of this site, as the guardian reports it."""

    session_id: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int


@dataclass(frozen=True)
class QueryStatus:
    """The contents of `ostraka query status`.

    Attributes:
        certificates: this site's own.
        guardians: the guardian's replicas.
        parties: the parties that the site can ask.
        sessions: the site's sessions, newest first; empty if the guardian did not report them, see `unknown`.
        queries_left: within 24 hours; None if there is no limit, or the guardian did not say.
        unknown: why the guardian did not report this site's sessions, if so.
        runs: progress of the named run, if any.
    """

    certificates: CertificateStatus
    guardians: Sequence[Server]
    parties: Sequence[Server]
    sessions: Sequence[OwnSession]
    queries_left: int | None
    unknown: Problem | None
    runs: Sequence[RunStatus]


def query_status(folder: Path, run: Path | None = None, *, clock: Clock | None = None) -> QueryStatus:
    """Ask every server once for its status, and read the run.

    Raises:
        OstrakaError: config.invalid for the site's own files, data.missing or run.mismatch for the run's.
    """
    clock = clock or SystemClock()
    runs = [] if run is None else run_statuses(run)
    site = load_query_site(folder)
    own = Credentials.of(site)
    replicas = guardians(site, own, clock)
    told = standing(site, own, replicas, clock)
    known = guardian_pb2.StandingReply() if isinstance(told, Problem) else told
    return QueryStatus(
        certificates_of(own, clock),
        replicas,
        parties(site, own, clock),
        [_session(session) for session in known.sessions],
        known.queries_left if known.HasField("queries_left") else None,
        told if isinstance(told, Problem) else None,
        runs,
    )


def as_json(status: QueryStatus) -> dict[str, Any]:
    """Return the status as JSON types."""
    runs = [asdict(run) | {"stopped": run.stopped and run.stopped.model_dump()} for run in status.runs]
    return asdict(status) | {"runs": runs}


def show(status: QueryStatus, console: Console) -> None:
    """Print the status."""
    console.print(Group(*_parts(status)))


def _parts(status: QueryStatus) -> Iterable[RenderableType]:
    yield from shown.certificates(status.certificates)
    yield shown.servers("Guardian", status.guardians)
    yield shown.servers("Parties", status.parties)
    if status.unknown is not None:
        yield Text(f"The state of this site's sessions is unknown: {status.unknown}", style="yellow")
    else:
        yield _sessions(status.sessions)
        limit = "as many as it likes" if status.queries_left is None else f"{status.queries_left} more"
        yield Text(f"Within 24 hours this site may ask {limit}.")
    for run in status.runs:
        yield _run(run)


def _sessions(sessions: Sequence[OwnSession]) -> RenderableType:
    table = Table("session", "opened", "state", "asked", "answered", title="Own sessions")
    for one in sessions:
        asked = f"{one.asked} of {one.queries}"
        table.add_row(one.session_id, shown.moment(one.opened_unix_s), one.state, asked, str(one.answered))
    return table


def _run(run: RunStatus) -> RenderableType:
    grid = Table.grid(padding=(0, 1))
    grid.add_row(
        Text(f"Run {run.run}, {run.state}:"),
        shown.bar(run.settled, run.queries),
        Text(f"{run.settled} of {count_text(run.queries, 'query', 'queries')} settled"),
    )
    batches = ", ".join(f"{count} {name}" for name, count in run.batches.items() if count) or "none"
    session = run.session_id or "not granted yet"
    told = f"  Session {session}; batches: {batches}; last change {shown.moment(run.changed_unix_s)}."
    late = [Text(f"  {run.latecomers}")] if run.latecomers.last else []
    return Group(grid, Text(told), *late, Text(f"  {run.next}"))


def _session(session: guardian_pb2.SessionStanding) -> OwnSession:
    return OwnSession(
        session.session_id,
        session.state,
        session.queries,
        session.asked,
        session.answered,
        session.opened_unix_s,
    )
