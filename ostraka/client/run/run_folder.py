"""The folder of one labelling run: created once, locked by one process at a time, used for no other run."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run.pool import AskedPool, pool_digest
from ostraka.client.session.run_state import STATE_FILE, RunState, RunStore, Student, load_state
from ostraka.common.config import SITE_FILE
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task

LOCK_FILE = "session.lock"


class Planner(Protocol):
    """Makes the plan of the current options."""

    @property
    def align(self) -> bool:
        """Whether the plan is to be aligned with the number of teachers that vote."""

    def scale(self, nonce: bytes) -> float:
        """Ask the guardian for the factor by which to scale the plan's noise."""

    def plan(self, nonce: bytes, scale: float | None) -> Plan:
        """Return the plan with this nonce and scale."""

    def clusters(self, features: NDArray[np.float32]) -> tuple[int, ...]:
        """Return the cluster of each record if clusters are the queries; else empty."""


def require_no_site(folder: Path) -> None:
    """Raise `run.mismatch` for the folder of a site, which is not a run."""
    if (folder / SITE_FILE).exists():
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} is the folder of a site, with its keys: name a folder for the run, such as"
            f" {folder / 'run'}.",
        )


@contextmanager
def hold_folder(folder: Path) -> Iterator[None]:
    """Lock the folder against other processes; create it if needed.

    Raises `run.mismatch` if it is in use, or a site's folder.
    """
    require_no_site(folder)
    try:
        with room_in(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = (folder / LOCK_FILE).open("w")
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot write into {folder} ({exc.strerror}): name another --out folder.",
        ) from exc
    with lock:
        try:
            # The kernel releases the lock however this process ends.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise OstrakaError(
                ErrorCode.RUN_MISMATCH, f"Another process uses {folder}: wait for it, or stop it."
            ) from exc
        yield


def open_run(
    folder: Path,
    task: Task,
    asked: AskedPool,
    student: Student | None,
    planner: Planner,
    nonce: bytes,
) -> RunStore:
    """Return the run in `folder`: resumed if there is one, else new, with this `nonce`.

    A new plan is aligned if chosen; a resumed run keeps its plan. Raises `run.mismatch` if the folder
    contains a run for another pool, task, plan or student.
    """
    pool = pool_digest(asked.features)
    if not (folder / STATE_FILE).exists():
        scale = planner.scale(nonce) if planner.align else None
        state = RunState(
            task=task.name,
            classes=task.classes,
            pool_sha256=pool,
            pool_size=len(asked.features),
            plan=planner.plan(nonce, scale).serialize().hex(),
            scale=scale,
            student=student,
            clusters=planner.clusters(asked.features),
            copies=asked.copies,
        )
        return RunStore.create(folder, state)
    state = load_state(folder)
    stored = state.parse_plan()
    if state.pool_sha256 != pool:
        raise _mismatch(folder, "another pool")
    if stored.task_digest != task.digest:
        raise _mismatch(folder, "another task")
    if (state.scale is not None) is not planner.align:
        raise _mismatch(folder, f"a plan that is {'not ' if planner.align else ''}aligned")
    plan = planner.plan(stored.nonce, state.scale)
    if plan != stored:
        names = [name for name in Plan.model_fields if getattr(plan, name) != getattr(stored, name)]
        raise _mismatch(folder, f"a plan with other {', '.join(names)}")
    if state.student != student:
        raise _mismatch(folder, "another student")
    return RunStore(folder, state)


def _mismatch(folder: Path, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RUN_MISMATCH,
        f"{folder} holds a run for {what}: repeat its options to resume it, or name another --out folder.",
    )
