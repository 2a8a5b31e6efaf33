"""What a site asked about before, so that nobody pays twice for the same labels by mistake."""

import errno
import hashlib
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import structlog
from numpy.typing import NDArray
from pydantic import ValidationError

from ostraka.client.run.combined import is_combined, load_combined
from ostraka.client.session.run_state import STATE_FILE, load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in, write_atomic
from ostraka.common.validation import FrozenModel

FOLDER = "asked"
"""In a site's folder, with a file for each run: two processes never write the same one."""
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
_DIGEST_BYTES = 8
"""Of a record: among a billion two are alike with a chance of 3%, and then one record is asked about by
--again."""


class AskedRecords(FrozenModel):
    """Records that a run asked about.

    Attributes:
        run: its folder.
        task_digest: of the task, in hex.
        labels: names of those that were asked about.
        records: digests of the records, in hex.
    """

    version: Literal[1] = 1
    run: str
    task_digest: str
    labels: tuple[str, ...]
    records: tuple[str, ...]


@dataclass(frozen=True)
class Question:
    """What is to be asked.

    Attributes:
        site: the site's folder.
        run: the folder of the run, or of the rounds.
        task_digest: of the task, in hex.
        labels: names of those that are asked about.
        features: of the records, prepared, float32 (N, F).
        queries: how many of them, from the first, are asked about; None: all.
    """

    site: Path
    run: Path
    task_digest: str
    labels: tuple[str, ...]
    features: NDArray[np.float32]
    queries: int | None = None


@contextmanager
def remembering(
    question: Question,
    settled: Callable[[], Collection[int]],
    *,
    begun: bool,
    again: bool,
    paid: Callable[[Path], str],
) -> Iterator[None]:
    """Keep in the site's folder what is asked within the block, however it ends.

    Args:
        question: what is asked.
        settled: rows of its records that were asked about by the end.
        begun: whether a run is there already, which goes on.
        again: whether records may be paid for again.
        paid: what a run cost, as the end of a sentence.

    Raises:
        OstrakaError: `run.asked_before` for a new run about records that another run asked about.
    """
    digests = [_digest(record) for record in question.features]
    asked = digests[: question.queries]
    if not begun and not again:
        _require_new(question, asked, paid)
    file = _file(question)
    # Before anybody is asked: a process that is killed has no other time.
    _write(file, question, asked)
    try:
        yield
    finally:
        rows = settled()
        if rows:
            _write(file, question, [digests[row] for row in sorted(rows)])
        elif file.exists():
            file.unlink()


def answer_rows(run: Path) -> Collection[int]:
    """Return the rows of a pool that a run asked about so far; none where there is no run."""
    try:
        answers = load_combined(run).answers if is_combined(run) else load_state(run).answers()
    except OstrakaError:
        return ()
    return answers.keys()


def is_begun(run: Path) -> bool:
    """Whether a folder holds a run, or runs with dependencies or label settings."""
    return (run / STATE_FILE).exists() or is_combined(run)


def _digest(record: NDArray[np.float32]) -> str:
    # Adding 0 makes the two zeros of floats one.
    return hashlib.sha256((record + np.float32(0)).tobytes()).digest()[:_DIGEST_BYTES].hex()


def _file(question: Question) -> Path:
    name = hashlib.sha256(str(question.run.resolve()).encode()).hexdigest()[:32]
    return question.site / FOLDER / f"{name}.json"


def _write(file: Path, question: Question, digests: Sequence[str]) -> None:
    asked = AskedRecords(
        run=str(question.run.resolve()),
        task_digest=question.task_digest,
        labels=question.labels,
        records=tuple(digests),
    )
    try:
        with room_in(question.site):
            file.parent.mkdir(mode=0o700, exist_ok=True)
            write_atomic(file, asked.model_dump_json())
    except OSError as error:
        if error.errno not in READ_ONLY:
            raise
        # A container may have its site where nothing is written: labels are worth more than the memory.
        structlog.get_logger().warning("query.not_remembered", folder=str(file.parent))


def _earlier(site: Path) -> Iterator[AskedRecords]:
    """Yield what is remembered; a file that is damaged says nothing."""
    for file in sorted((site / FOLDER).glob("*.json")):
        try:
            yield AskedRecords.model_validate_json(file.read_bytes())
        except (OSError, ValidationError):
            continue


def _require_new(question: Question, digests: Sequence[str], paid: Callable[[Path], str]) -> None:
    """Raise `run.asked_before` naming the run that asked about most of these records, and what it cost."""
    most = 0
    found = None
    for earlier in _earlier(question.site):
        same = earlier.task_digest == question.task_digest and set(earlier.labels) & set(question.labels)
        known = frozenset(earlier.records) if same else frozenset()
        repeated = sum(digest in known for digest in digests)
        if repeated > most:
            most = repeated
            found = earlier
    if found is None:
        return
    run = Path(found.run)
    raise OstrakaError(
        ErrorCode.RUN_ASKED_BEFORE,
        f"{most} of these {len(digests)} records were asked about before, in {run}, {paid(run)}: repeat"
        f" --out {run} to go on with that run or take its labels, ask about other records, or pay again with"
        " --again.",
    )
