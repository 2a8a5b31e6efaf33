"""Messages for programs: pages of rows, plain values, audit rows as JSON lines, charges as CSV."""

import csv
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, Any, Protocol, TypeVar

from google.protobuf.message import Message

from ostraka.common.privacy.guarantees import NOTIONS, notion, plan_notion
from ostraka.protos.ostraka.v1 import admin_pb2

ROWS = 1000
"""Rows of a message: each takes less than 4 KB with its longest texts, and gRPC's limit is 4 MiB."""

Row_co = TypeVar("Row_co", covariant=True)
Item = TypeVar("Item")


class Page(Protocol[Row_co]):
    """A message with some rows of a list."""

    @property
    def rows(self) -> Iterable[Row_co]:
        """Rows, in the list's order."""


def pages(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield items in lists of at most one message's rows."""
    left = iter(items)
    while page := list(islice(left, ROWS)):
        yield page


def rows_of(stream: Iterable[Page[Item]]) -> Iterator[Item]:
    """Yield the rows of all pages, one after the other."""
    for page in stream:
        yield from page.rows


def plain(message: Message) -> dict[str, Any]:
    """Every field of a message by name: numbers as numbers, bytes as hex, messages as objects.

    A message with an adjacency also says what its epsilons protect, as `notion`: persons if the message says
    so.
    """
    values = {field.name: _plain(getattr(message, field.name)) for field in message.DESCRIPTOR.fields}
    if values.get("adjacency") in NOTIONS:
        whole = bool(values.get("whole_persons"))
        values["notion"] = plan_notion(values["adjacency"], whole_persons=whole)
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return plain(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, str | int | float):
        return value
    return [_plain(item) for item in value]


COLUMNS = tuple(field.name for field in admin_pb2.ChargeRow.DESCRIPTOR.fields)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Characters that make a spreadsheet take a cell for a formula."""


def write_audit(rows: Iterable[admin_pb2.AuditRow], file: IO[str]) -> int:
    """Write one JSON object per line, with everything needed to check a row, and return their number."""
    written = 0
    for row in rows:
        file.write(json.dumps(plain(row)) + "\n")
        written += 1
    return written


def write_charges(rows: Iterable[admin_pb2.ChargeRow], file: IO[str]) -> None:
    """Write a header and one line per charge, with what its epsilons protect."""
    writer = csv.writer(file)
    writer.writerow((*COLUMNS, "notion"))
    for row in rows:
        values = (getattr(row, name) for name in COLUMNS)
        writer.writerow([*map(_cell, values), notion(row.adjacency)])


def _cell(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value
