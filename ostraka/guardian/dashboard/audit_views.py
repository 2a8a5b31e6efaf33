"""The audit log as a page, and files for the guardian's auditors: report, log, charges, signed head."""

import tempfile
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import IO

from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.exports import rows_of, write_audit, write_charges
from ostraka.guardian.admin.report import read_report, render
from ostraka.guardian.admin.texts import span
from ostraka.guardian.admin.verification import read_head, verify_export
from ostraka.guardian.dashboard.console import Console, console_of, newest, page
from ostraka.guardian.dashboard.middleware import check_form
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

MAX_HEADS = 100
"""Largest number of kept heads in one verification."""


def audit(request: Request) -> Response:
    """Show the head and a page of rows, newest first."""
    until = _number(request.query_params.get("until"))
    head, rows = console_of(request).ask(lambda stub: newest(stub, until))
    older = rows[-1].sequence - 1 if rows else 0
    return page(request, "audit.html", head=head, rows=rows, older=older, newest=until is None)


async def verify(request: Request) -> Response:
    """Check the whole log that the guardian exports, and that it contains the uploaded heads."""
    async with request.form(max_files=MAX_HEADS, max_fields=2) as form:
        check_form(request, form.get("csrf"))
        uploads = [file for file in form.getlist("heads") if isinstance(file, UploadFile) and file.filename]
        heads = [read_head(await file.read(), str(file.filename)) for file in uploads]
    good, sentence = await run_in_threadpool(_verify, console_of(request), heads)
    return await run_in_threadpool(page, request, "verified.html", good=good, sentence=sentence)


def _verify(console: Console, heads: Sequence[common_pb2.AuditHead]) -> tuple[bool, str]:
    try:
        rows = console.ask(
            lambda stub: verify_export(
                stub.ExportAudit(admin_pb2.ExportAuditRequest()), console.credentials, heads
            )
        )
    except OstrakaError as error:
        if error.code not in {ErrorCode.LEDGER_TAMPERED, ErrorCode.MESSAGE_INVALID}:
            raise
        return False, error.message
    return True, (
        f"The audit log is intact: {rows} rows follow each other from the first on, and the guardian"
        f" signed each. Kept heads found in it: {len(heads)}."
    )


def _number(text: str | None) -> int | None:
    """Return a row's number; None if there is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None


_FIRST = date(1970, 1, 1)
_LAST = date(9998, 12, 31)

Write = Callable[[admin_pb2_grpc.AdminStub, IO[str]], object]


def downloads(request: Request) -> Response:
    """Show the available downloads."""
    return page(request, "downloads.html")


def report(request: Request) -> Response:
    """Return the report that a data-protection officer files."""
    console = console_of(request)
    begin, end = _span(request)
    found = console.ask(lambda stub: read_report(stub, console.site.federation, console.now_ms(), begin, end))
    return _attach(render(found).encode(), "report.html", "text/html; charset=utf-8")


def audit_log(request: Request) -> Response:
    """Every row of the audit log, one JSON object per line."""
    asked = admin_pb2.ExportAuditRequest()
    return _write_file(
        console_of(request),
        lambda stub, file: write_audit(stub.ExportAudit(asked), file),
        "audit.jsonl",
        "application/jsonl",
    )


def charges(request: Request) -> Response:
    """Every charge as CSV."""
    begin, end = _span(request)
    asked = admin_pb2.ListChargesRequest(from_unix_ms=begin, to_unix_ms=end)
    return _write_file(
        console_of(request),
        lambda stub, file: write_charges(rows_of(stub.ListCharges(asked)), file),
        "charges.csv",
        "text/csv; charset=utf-8",
    )


def head(request: Request) -> Response:
    """Return the latest signed head, to check the log against later."""
    found = console_of(request).ask(lambda stub: stub.Head(admin_pb2.HeadRequest()))
    return _attach(found.SerializeToString(), "audit-head.pb", "application/octet-stream")


def _attach(content: bytes, name: str, media_type: str) -> Response:
    return Response(content, media_type=media_type, headers=_as_file(name))


def _write_file(console: Console, write: Write, name: str, media_type: str) -> Response:
    """Return a file that may be too large for memory; it is removed after it was sent."""
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="", prefix="ostraka-", delete=False
    ) as file:
        path = Path(file.name)
        try:
            console.ask(lambda stub: _write_anew(stub, write, file))
        except BaseException:  # also when the visitor goes away: nobody else removes the file
            path.unlink()
            raise
    return FileResponse(
        path, media_type=media_type, headers=_as_file(name), background=BackgroundTask(path.unlink)
    )


def _write_anew(stub: admin_pb2_grpc.AdminStub, write: Write, file: IO[str]) -> None:
    """Write from the beginning: another replica may be asked after one failed half-way."""
    file.seek(0)
    file.truncate()
    write(stub, file)


def _as_file(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="ostraka-{name}"'}


def _span(request: Request) -> tuple[int, int]:
    """Return the requested days, as `span` does; raises `message.invalid`."""
    first, last = (_day(request.query_params.get(name, "")) for name in ("from", "to"))
    return span(first, last)


def _day(text: str) -> date | None:
    try:
        day = date.fromisoformat(text) if text else None
        if day is None or _FIRST <= day <= _LAST:
            return day
    except ValueError:
        pass
    raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"{text[:20]!r} is not a day; write it as 2026-01-31.")
