"""Exports for programs: the audit log as JSON lines, charges as CSV."""

import csv
import json
from collections.abc import Iterable
from typing import IO

from ostraka.common.privacy.guarantees import notion
from ostraka.guardian.admin.plain import plain
from ostraka.protos.ostraka.v1 import admin_pb2

COLUMNS = tuple(field.name for field in admin_pb2.ChargeRow.DESCRIPTOR.fields)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would take for the beginning of a formula."""


def write_audit(rows: Iterable[admin_pb2.AuditRow], file: IO[str]) -> int:
    """Write one JSON object a line, with everything that it takes to check a row, and return how many."""
    written = 0
    for row in rows:
        file.write(json.dumps(plain(row)) + "\n")
        written += 1
    return written


def write_charges(rows: Iterable[admin_pb2.ChargeRow], file: IO[str]) -> None:
    """Write a header and one line a charge, with what its epsilons promise."""
    writer = csv.writer(file)
    writer.writerow((*COLUMNS, "notion"))
    for row in rows:
        values = (getattr(row, name) for name in COLUMNS)
        writer.writerow([*map(_cell, values), notion(row.adjacency)])


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
