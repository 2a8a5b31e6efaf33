"""Outcomes on disk: each once for its settings, the version of its code, its seeds and its size."""

import platform
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from benchmarks.caching import digest
from benchmarks.reproduce.cell import Cell, Outcome
from benchmarks.reproduce.definitions import ROOT
from benchmarks.reproduce.source import code_version, settings_of
from ostraka.common.files.durable import write_atomic
from ostraka.services.encrypted.head_processes import cores

FOLDER = ROOT / "build" / "reproductions"
RECORDS = Path(__file__).parent / "records"
"""Of what the page shows, one file a cell: in the repository, so that anybody can write the page."""


def machine() -> str:
    """Return what kind of machine this is; never which."""
    return f"{platform.system()} {platform.machine()}, {cores()} cores, Python {platform.python_version()}"


def commit() -> str:
    """Return the commit that is checked out, with a + where files differ from it; "unknown" without git."""
    try:
        head, changed = (
            subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S607
            for words in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "-uno"])
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return head.strip() + ("+" if changed.strip() else "")


@dataclass(frozen=True)
class Record:
    """One cell as it was run.

    Attributes:
        cell: its id.
        digest: of its settings and the version of its code.
        quick: whether in small.
        seeds: over which it was repeated.
        outcome: what was measured; none where it failed.
        error: the sentence that says why; none where it did not.
        seconds: that it took.
        processor_seconds: of all its threads and processes; none where an older version measured.
        machine: kind of machine.
        commit: that was checked out; + says that files differed from it.
        ended: when, in UTC.
    """

    cell: str
    digest: str
    quick: bool
    seeds: tuple[int, ...]
    outcome: Outcome | None
    error: str | None
    seconds: float
    processor_seconds: float | None = None
    machine: str = field(default_factory=machine)
    commit: str = field(default_factory=commit)
    ended: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))


_FORM = TypeAdapter(Record)


class Store:
    """Records in a folder, one file each, written whole or not at all; and those that the page shows."""

    def __init__(self, folder: Path = FOLDER, shown: Path | None = None) -> None:
        """Take the folder, which is created when something is kept, and that of the page's records."""
        self.folder = folder
        self.shown = shown

    def load(self, cell: Cell, *, quick: bool) -> Record | None:
        """Return the record of the present settings and code, if there is one that did not fail."""
        wanted = digest_of(cell, quick=quick)
        found = (one for one in self._all(cell.id) if one.digest == wanted and one.outcome)
        return next(found, None)

    def newest(self, cell: Cell) -> Record | None:
        """Return the last whole record, else the last in small, else the last failure."""
        records = list(self._all(cell.id))
        return max(records, key=lambda one: (bool(one.outcome), not one.quick, one.ended), default=None)

    def whole(self, cell: Cell) -> Record | None:
        """Return the last whole record, which the page shows once it is written anew."""
        record = self.newest(cell)
        return None if record is None or record.quick or record.outcome is None else record

    def on_page(self, cell: Cell) -> Record | None:
        """Return the record that the page shows until it is written anew; the last whole one of a new row."""
        record = _read(self.shown / f"{cell.id}.json") if self.shown else None
        return record or self.whole(cell)

    def keep(self, record: Record) -> None:
        """Write a record; raises storage.full where there is no room."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(record.cell, record.quick, record.digest)
        write_atomic(file, _FORM.dump_json(record, indent=1).decode())

    def show(self, cell: Cell) -> None:
        """Put a cell's last whole record among those that the page shows."""
        if self.shown and (record := self.whole(cell)):
            self.shown.mkdir(parents=True, exist_ok=True)
            write_atomic(self.shown / f"{cell.id}.json", _FORM.dump_json(record, indent=1).decode() + "\n")

    def _all(self, cell: str) -> Iterator[Record]:
        shown = [self.shown / f"{cell}.json"] if self.shown else []
        for file in [*sorted(self.folder.glob(f"{cell}.*.json")), *shown]:
            if record := _read(file):
                yield record

    def _file(self, cell: str, quick: bool, settings: str) -> Path:
        return self.folder / f"{cell}.{'quick' if quick else 'whole'}.{settings}.json"


def seeds_of(cell: Cell, *, quick: bool) -> tuple[int, ...]:
    """Return a cell's seeds: one alone in small."""
    return tuple(range(1 if quick else cell.seeds))


def digest_of(cell: Cell, *, quick: bool) -> str:
    """Return what a cell's numbers depend on, in eight digits."""
    assert cell.run is not None
    module, name, values = settings_of(cell.run)
    return digest(cell.id, quick, seeds_of(cell, quick=quick), name, values, code_version(module, name))


def by_older_code(record: Record, cell: Cell) -> bool:
    """Whether a cell's settings or code are others than those of a record."""
    return record.digest != digest_of(cell, quick=record.quick)


def _read(file: Path) -> Record | None:
    """Return a record; none where the file is not there or another version wrote it."""
    try:
        return _FORM.validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
