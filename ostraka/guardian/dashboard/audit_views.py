"""The audit log: its head, its newest rows, and whether it is whole."""

from collections.abc import Sequence

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request
from starlette.responses import Response

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.verification import read_head, verify_export
from ostraka.guardian.dashboard.console import Console, console_of, page
from ostraka.guardian.dashboard.log import newest
from ostraka.guardian.dashboard.middleware import check_form
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2

HEADS_MAX = 100
"""Kept heads that one verification takes."""


def audit(request: Request) -> Response:
    """Show the head and a page of rows, the newest first."""
    until = _number(request.query_params.get("until"))
    head, rows = console_of(request).ask(lambda stub: newest(stub, until))
    older = rows[-1].sequence - 1 if rows else 0
    return page(request, "audit.html", head=head, rows=rows, older=older, newest=until is None)


async def verify(request: Request) -> Response:
    """Check the whole log as the guardian exports it, and that it holds the heads that were uploaded."""
    async with request.form(max_files=HEADS_MAX, max_fields=2) as form:
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
        f"The audit log is intact: {rows} rows follow each other from the first on, the guardian signed each,"
        f" and {len(heads)} kept heads are in it."
    )


def _number(text: str | None) -> int | None:
    """Return a row's number; None where there is none."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 19 else None
