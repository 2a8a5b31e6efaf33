"""A memory of the records that a site already asked about, so it does not pay twice by mistake."""

import errno
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

import numpy as np
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError

from ostraka.client.run.combined import is_combined
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.rounds_state import load_rounds, runs_of
from ostraka.client.run.run_folder import LOCK_FILE
from ostraka.client.session.run_state import STATE_FILE, RunState
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in, write_atomic
from ostraka.common.files.versions import read_versioned
from ostraka.common.task import Task
from ostraka.common.validation import FrozenModel

FOLDER = "asked"
"""Sub-folder of a site's folder with one file per run, so runs do not overwrite each other's files."""
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_DIGEST_BYTES = 8
"""Bytes of a record's digest: among a billion records two collide with a chance of 3%; then one of them needs
--again."""


class AskedRecords(FrozenModel):
    """Records that a run asked about.

    Attributes:
        run: the run's folder.
        task_digest: of the task, in hex.
        labels: names of the labels that were asked about.
        records: digests of the records, in hex.
        meant: digests of the records that a running or killed process intends to ask about.
    """

    version: Literal[1] = 1
    run: str
    task_digest: str
    labels: tuple[str, ...]
    records: tuple[str, ...]
    meant: tuple[str, ...] = ()


@dataclass(frozen=True)
class Question:
    """What a run is about to ask.

    Attributes:
        site: the site's folder.
        run: the folder of the run, or of the rounds.
        task_digest: of the task, in hex.
        labels: names of the labels that are asked about.
        features: prepared features of the records, float32 (N, F).
        queries: how many records, from the first, are asked about; None: all.
    """

    site: Path
    run: Path
    task_digest: str
    labels: tuple[str, ...]
    features: NDArray[np.float32]
    queries: int | None = None

    @classmethod
    def of(
        cls,
        site: Path,
        run: Path,
        task: Task,
        records: Dataset,
        labels: tuple[str, ...] | None,
        queries: int | None = None,
    ) -> Self:
        """Return the question for records of a task; `labels` None means all of the task's labels."""
        return cls(site, run, task.digest.hex(), labels or task.classes, task.prepare(records.X), queries)


@contextmanager
def remembering(
    question: Question,
    rows: Callable[[], Collection[int] | None],
    *,
    begun: bool,
    again: bool,
    paid: Callable[[Path], str],
) -> Iterator[None]:
    """Record in the site's folder what is asked in the block, however it ends, besides earlier entries.

    Args:
        question: what is asked.
        rows: returns the rows that the run asked about so far; None if the folder contains another question's
            run, which the block should refuse.
        begun: whether a run exists, which is resumed.
        again: whether records may be paid for again.
        paid: returns what a run cost, as the end of a sentence.

    Raises:
        OstrakaError: `run.asked_before` for a new run about records that another run asked about;
            `data.newer` and `data.unreadable` for a memory that cannot be read.
    """
    digests = [_digest(record) for record in question.features]
    asked = digests[: question.queries]
    # A run settles what a killed process meant to ask. Without a run, the process has asked nobody.
    settled = begun or _is_unbegun(question.run)
    if not begun and not again:
        _require_new(question, asked, paid, settled=settled)
    if begun and rows() is None:
        yield
        return
    file = _file(question)
    kept = _load_kept(file, settled=settled)
    # Before any party is asked: a killed process cannot write later.
    _write(file, question, kept, meant=asked)
    try:
        yield
    finally:
        found = rows()
        if found is not None:
            _write(file, question, kept | {digests[row] for row in found})


def rows_of_run(question: Question) -> Collection[int] | None:
    """Return the rows that a question's run may have asked about; None if its folder contains another run."""
    combined = is_combined(question.run)
    try:
        states = runs_of(question.run)
        same = all(_is_about(state, question, combined=combined) for state in states)
    except OstrakaError as error:
        return () if error.code is ErrorCode.DATA_MISSING else None
    return {row for state in states for row in state.asked_rows()} if same else None


def rows_of_rounds(question: Question, labels: Collection[str] | None) -> Collection[int] | None:
    """Return the rows that rounds ask about, as `rows_of_run` does; `labels` are the chosen ones, if any."""
    try:
        rounds = load_rounds(question.run)
    except OstrakaError as error:
        return () if error.code is ErrorCode.DATA_MISSING else None
    chosen = labels and ",".join(labels)
    asked = (question.task_digest, pool_digest(question.features), chosen)
    # Rounds of earlier versions have no such setting, and resume with any labels.
    found = (rounds.task_digest, rounds.pool_sha256, rounds.settings.get("labels", chosen))
    return rounds.all_rows() if found == asked else None


def _is_about(state: RunState, question: Question, *, combined: bool) -> bool:
    """Whether a run belongs to a question; combined runs each ask about some of its labels."""
    plan = state.parse_plan()
    labels = {state.classes[label] for label in plan.labels} if plan.labels else set(state.classes)
    digests = (state.pool_sha256, plan.task_digest.hex())
    same = digests == (pool_digest(question.features), question.task_digest)
    return same and (combined or labels == set(question.labels))


def is_begun(run: Path) -> bool:
    """Whether a folder contains a run, or runs with dependencies or label settings."""
    return (run / STATE_FILE).exists() or is_combined(run)


def _is_unbegun(run: Path) -> bool:
    """Whether a process locked a folder and was killed before it wrote a run, hence before it asked."""
    try:
        names = {entry.name for entry in run.iterdir()}
    except OSError:
        return False
    return LOCK_FILE in names and all(name == LOCK_FILE or name.endswith(".tmp") for name in names)


def _digest(record: NDArray[np.float32]) -> str:
    # Adding 0 turns -0.0 into 0.0.
    return hashlib.sha256((record + np.float32(0)).tobytes()).digest()[:_DIGEST_BYTES].hex()


def _file(question: Question) -> Path:
    of = (question.run.resolve(), question.task_digest, pool_digest(question.features), *question.labels)
    name = hashlib.sha256("\0".join(map(str, of)).encode()).hexdigest()[:32]
    return question.site / FOLDER / f"{name}.json"


def _load_kept(file: Path, *, settled: bool) -> frozenset[str]:
    """Return the digests in a file, without a killed process's intentions if these are settled."""
    earlier = _read(file)
    return frozenset() if earlier is None else _digests_of(earlier, settled=settled)


def _digests_of(earlier: AskedRecords, *, settled: bool) -> frozenset[str]:
    return frozenset(earlier.records if settled else earlier.records + earlier.meant)


def _write(file: Path, question: Question, records: Collection[str], meant: Sequence[str] = ()) -> None:
    asked = AskedRecords(
        run=str(question.run.resolve()),
        task_digest=question.task_digest,
        labels=question.labels,
        records=tuple(sorted(records)),
        meant=tuple(meant),
    )
    try:
        if not records and not meant:
            file.unlink(missing_ok=True)
            return
        with room_in(question.site):
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomic(file, asked.model_dump_json())
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        # A container may have a read-only site folder: labels matter more than this memory.
        structlog.get_logger().warning("query.not_remembered", folder=str(file.parent))


def _earlier(site: Path) -> Iterator[tuple[Path, AskedRecords]]:
    """Yield all files and their entries; raise as `_read` does."""
    for file in sorted((site / FOLDER).glob("*.json")):
        earlier = _read(file)
        if earlier is not None:
            yield file, earlier


def _read(file: Path) -> AskedRecords | None:
    """Return a file's entry, None if there is no file.

    Raises:
        OstrakaError: `data.newer` for a later version's file, `data.unreadable` for a damaged one: ignoring
            it would mean paying for its records again.
    """
    try:
        return read_versioned(file, AskedRecords)
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{file} remembers which records a run asked about, and cannot be read: restore it, or remove it,"
            " and no later run knows of these records.",
        ) from exc


def _require_new(
    question: Question, digests: Sequence[str], paid: Callable[[Path], str], *, settled: bool
) -> None:
    """Raise `run.asked_before` with the run that asked about most of these records, and its cost.

    `settled` says whether nothing that a killed process meant to ask by this run counts.
    """
    most = 0
    found = None
    own = _file(question)
    for file, earlier in _earlier(question.site):
        same = earlier.task_digest == question.task_digest and set(earlier.labels) & set(question.labels)
        known = _digests_of(earlier, settled=settled and file == own) if same else frozenset()
        repeated = sum(digest in known for digest in digests)
        if repeated > most:
            most = repeated
            found = earlier
    if found is None:
        return
    run = Path(found.run)
    were = "record was" if len(digests) == 1 else "records were"
    how = "restore that folder" if run == question.run.resolve() else f"repeat --out {run}"
    raise OstrakaError(
        ErrorCode.RUN_ASKED_BEFORE,
        f"{most} of these {len(digests)} {were} asked about before, in {run}, {paid(run)}: {how}"
        " to go on with that run or take its labels, ask about other records, or pay again with --again.",
    )
