"""Progress of the runs in a folder, read from their state files."""

from dataclasses import dataclass
from pathlib import Path

from ostraka.client.session.latecomers import Latecomers
from ostraka.client.session.run_state import STATE_FILE, RunState, Stop, load_state
from ostraka.common.errors import ErrorCode, OstrakaError


@dataclass(frozen=True)
class RunStatus:
    """One run as its session.json has it.

    Attributes:
        run: its folder.
        session_id: the guardian's name of it; empty before it was granted.
        state: "done", "stopped" or "open".
        queries: how many its plan asks, `settled` how many are.
        batches: how many were begun, by what became of them: "open", "released", "dead", "lost".
        changed_unix_s: when it last came further.
        latecomers: the parties that the others waited for.
        stopped: the limit that it met, if so.
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
    """Return the run in `folder`, or those in it where rounds or dependencies made several, in order.

    Raises:
        OstrakaError: data.missing where there is none, run.mismatch for one that cannot be read.
    """
    found = sorted(folder.rglob(STATE_FILE), key=lambda path: (path.stat().st_mtime, path))
    if not found:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"{folder} holds no run: make one with `ostraka query label`."
        )
    return [_status(path.parent) for path in found]


def _status(folder: Path) -> RunStatus:
    state = load_state(folder)
    plan = state.parsed_plan()
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


def _next(state: RunState) -> str:
    if state.closed:
        return "It is done: `ostraka query retrain` or `ostraka query report`."
    if state.stopped is not None:
        return state.stopped.message
    return "If no process is at work on it, repeat the command that began it, with the same options."
