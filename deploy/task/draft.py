"""A first task file, written for a person to complete."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.common.cli import write_file
from ostraka.common.datasets.table_files import is_table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.printable import printable
from ostraka.common.task.table_proposal import TaskProposal, propose_task
from ostraka.common.task.task_file import task_text

OPEN = "write min and max"
LEFT_OPEN = """\
# Proposed from {records}. Write min and max of every column that has none: the least and the largest value
# that can occur, known from what is measured. Ranges taken from private records tell about them, and so do
# rare categories: read the lists of values too. Then: ostraka task check {out} {records}
"""
FROM_PUBLIC = """\
# Proposed from {records}, whose ranges and categories are taken to be public.
"""


@dataclass(frozen=True)
class DraftTask:
    """What was written, and what is left to a person."""

    file: Path
    records: Path
    proposal: TaskProposal
    open: tuple[str, ...]

    def sentences(self) -> str:
        """Return what was found, and what to do next, a sentence a line."""
        fields = self.proposal.fields
        columns = fields["input"]["columns"]
        told = [f"Wrote {self.file}: {_count(columns, 'column')}, classes {', '.join(fields['classes'])}."]
        if "id" in fields:
            told.append(f"Column '{fields['id']}' is the records' id: it comes back beside the labels.")
        if "ignore" in fields:
            told.append(f"Ignored: {', '.join(fields['ignore'])}.")
        told += self.proposal.notes
        if self.open:
            told.append(
                f"Open ranges: {', '.join(self.open)}. Write min and max of what can occur; ranges taken from"
                " private records tell about them, so this command takes none (--from-public does)."
            )
        return "\n".join([*told, f"Then: ostraka task check {self.file} {self.records}"])

    def summary(self) -> dict[str, Any]:
        """Return the same as values for JSON."""
        fields = self.proposal.fields
        return {
            "file": str(self.file),
            "classes": fields["classes"],
            "columns": [column["name"] for column in fields["input"]["columns"]],
            "id": fields.get("id"),
            "ignored": fields.get("ignore", []),
            "open": list(self.open),
            "notes": list(self.proposal.notes),
        }


def draft_task(records: Path, labels: tuple[str, ...], name: str, out: Path, *, public: bool) -> DraftTask:
    """Write a proposal for the table `records` to the file `out`.

    Raises:
        OstrakaError: as `propose_task` and `read_table`; `config.invalid` where `out` exists.
    """
    if out.exists():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{out} exists: name another file with --out, or remove it."
        )
    if not is_table(records):
        raise _no_table(records)
    proposal = propose_task(read_table(records), labels, name, source=str(records), public=public)
    unranged = () if public else tuple(column for column, ends in proposal.ranges.items() if ends)
    named = {"records": printable(str(records)), "out": printable(str(out))}
    header = (FROM_PUBLIC if public else LEFT_OPEN).format_map(named)
    if public:
        proposal.task()
    fields = proposal.with_ranges() if public else proposal.fields
    write_file(out, (header + task_text(fields, dict.fromkeys(unranged, OPEN))).encode())
    return DraftTask(out, records, proposal, unranged)


def _count(things: list[Any], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _no_table(records: Path) -> OstrakaError:
    if not records.is_file():
        return OstrakaError(ErrorCode.DATA_MISSING, f"There is no data file {records}: check the path.")
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE,
        f"{records} is no table: give a .csv, a .parquet, or an .npz with an array a column; docs/task.md has"
        " a task for arrays of one shape.",
    )
