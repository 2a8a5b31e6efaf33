"""Parts of the audit log that pages show."""

import json
from collections.abc import Sequence
from typing import Any

from ostraka.guardian.admin.client import odd
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

PAGE = 100
"""Rows on one page."""

RECENT = 2000
"""Rows that are searched for policies."""


def newest(
    stub: admin_pb2_grpc.AdminStub, until: int | None
) -> tuple[common_pb2.AuditHead, Sequence[admin_pb2.AuditRow]]:
    """Return the head, and the `PAGE` rows up to row `until` (the last one where None), newest first."""
    head = stub.Head(admin_pb2.HeadRequest())
    last = head.sequence if until is None else min(until, head.sequence)
    rows = _rows(stub, last - PAGE + 1, PAGE)
    return head, [row for row in reversed(rows) if row.sequence <= last]


def policies(stub: admin_pb2_grpc.AdminStub) -> Sequence[admin_pb2.AuditRow]:
    """Rows of policies that were applied, among the newest `RECENT` rows, newest first."""
    head = stub.Head(admin_pb2.HeadRequest())
    rows = _rows(stub, head.sequence - RECENT + 1, RECENT)
    return [row for row in reversed(rows) if said_in(row).get("kind") == "policy_applied"]


def said_in(row: admin_pb2.AuditRow) -> dict[str, Any]:
    """Return what a row says; raise `message.invalid` where that is no JSON object."""
    try:
        said = json.loads(row.payload)
    except (ValueError, RecursionError) as error:
        raise odd(f"sent audit row {row.sequence} with what is no JSON") from error
    if not isinstance(said, dict):
        raise odd(f"sent audit row {row.sequence} that says nothing by name")
    return said


def _rows(stub: admin_pb2_grpc.AdminStub, first: int, count: int) -> list[admin_pb2.AuditRow]:
    found: list[admin_pb2.AuditRow] = []
    stream = stub.ExportAudit(admin_pb2.ExportAuditRequest(first=max(1, first)))
    for row in stream:
        found.append(row)
        if len(found) == count:
            stream.cancel()
            break
    return found
