"""Outcomes on disk: one for each combination of settings, code version, seeds and size."""

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
"""The records on the page, one file per cell: in the repository, so anybody can generate the page."""


def machine() -> str:
    """Return the kind of this machine, never its identity."""
    return f"{platform.system()} {platform.machine()}, {cores()} cores, Python {platform.python_version()}"


def commit() -> str:
    """Return the checked-out commit, with a + if files differ from it; "unknown" without git."""
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
    """One run of a cell.

    Attributes:
        cell: its id.
        digest: of its settings and the version of its code.
        quick: whether it was a quick run.
        seeds: of its repetitions.
        outcome: the measurements; None if it failed.
        error: the sentence of its failure; None if it succeeded.
        seconds: its duration.
        processor_seconds: of all its threads and processes; None if an older version measured it.
        machine: kind of machine.
        commit: that was checked out; + means that files differed from it.
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
    """Records in a folder, one file each, written atomically; and the records on the page."""

    def __init__(self, folder: Path = FOLDER, shown: Path | None = None) -> None:
        """Take the folder, which is created when something is recorded, and that of the page's records."""
        self.folder = folder
        self.shown = shown

    def load(self, cell: Cell, *, quick: bool) -> Record | None:
        """Return the record for the current settings and code, if there is a successful one."""
        wanted = digest_of(cell, quick=quick)
        found = (one for one in self._all(cell.id) if one.digest == wanted and one.outcome)
        return next(found, None)

    def newest(self, cell: Cell) -> Record | None:
        """Return the last whole record, else the last quick one, else the last failure."""
        records = list(self._all(cell.id))
        return max(records, key=lambda one: (bool(one.outcome), not one.quick, one.ended), default=None)

    def whole(self, cell: Cell) -> Record | None:
        """Return the last whole record, which the page shows once it is rewritten."""
        record = self.newest(cell)
        return None if record is None or record.quick or record.outcome is None else record

    def on_page(self, cell: Cell) -> Record | None:
        """Return the record that the page shows until it is rewritten; the last whole record of a new row."""
        record = _read(self.shown / f"{cell.id}.json") if self.shown else None
        return record or self.whole(cell)

    def keep(self, record: Record) -> None:
        """Write a record; raises storage.full if there is no room."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self._file(record.cell, record.quick, record.digest)
        write_atomic(file, _FORM.dump_json(record, indent=1).decode())

    def show(self, cell: Cell) -> None:
        """Add a cell's last whole record to those on the page."""
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
    """Return a cell's seeds: a single one in quick runs."""
    return tuple(range(1 if quick else cell.seeds))


def digest_of(cell: Cell, *, quick: bool) -> str:
    """Return an eight-digit digest of what a cell's numbers depend on."""
    assert cell.run is not None
    module, name, values = settings_of(cell.run)
    return digest(cell.id, quick, seeds_of(cell, quick=quick), name, values, code_version(module, name))


def by_older_code(record: Record, cell: Cell) -> bool:
    """Whether a cell's settings or code differ from those of a record."""
    return record.digest != digest_of(cell, quick=record.quick)


def _read(file: Path) -> Record | None:
    """Return a record; None if the file is missing or of another version."""
    try:
        return _FORM.validate_json(file.read_bytes())
    except (FileNotFoundError, ValidationError):
        return None
