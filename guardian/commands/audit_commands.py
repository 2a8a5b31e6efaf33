"""`ostraka guardian audit`: the log that nobody can change unseen."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.cli import unwritable, write_file, write_json
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.commands.options import Json, Site
from ostraka.guardian.commands.output import say
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="The audit log.", no_args_is_help=True)


@app.command()
def verify(
    ledger: Annotated[Path | None, typer.Option(help="The guardian's ledger.db.")] = None,
    site: Annotated[
        Path | None, typer.Option(help="The guardian's site folder, which says where the ledger is.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="A ledger in PostgreSQL.")] = None,
    ca: Annotated[Path | None, typer.Option(help="CA certificate; else ca.crt beside the ledger.")] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option("--head", help="A party's audit-head.pb, which must be in the log."),
    ] = None,
    json: Json = None,
) -> None:
    """Check a ledger's audit log: its chain, signatures and balances. Needs no guardian that serves."""
    from ostraka.guardian.admin.verification import locate, verify_ledger

    where, beside = locate(ledger, site, url, ca)
    result = verify_ledger(where, beside, head or [])
    write_json(result, json)
    say(
        f"The audit log is intact: {result['entries']} entries, head {str(result['head'])[:16]}, "
        f"{result['heads_checked']} kept heads found in it.",
        json,
    )


@app.command("head")
def head_(
    site: Site,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="For `audit verify --head`.")],
    json: Json = None,
) -> None:
    """Write the log's latest signed head, to hold the log to later."""
    found = admin_call(site, lambda stub: stub.Head(admin_pb2.HeadRequest()))
    write_file(file, found.SerializeToString())
    write_json({"sequence": found.sequence, "hash": found.hash.hex()}, json)
    say(f"Wrote head {found.sequence}, {found.hash.hex()[:16]}, to {file}.", json)


@app.command()
def export(
    site: Site,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Written as one JSON object a line.")],
    first: Annotated[int, typer.Option(min=1, help="First row wanted.")] = 1,
    json: Json = None,
) -> None:
    """Write the log's rows, each with its signature, to check or keep them elsewhere."""
    request = admin_pb2.ExportAuditRequest(first=first)
    rows = admin_call(site, lambda stub: _write_rows(stub.ExportAudit(request), file))
    write_json({"rows": rows, "first": first}, json)
    say(f"Wrote {rows} rows to {file}.", json)


def _write_rows(rows: Iterable[admin_pb2.AuditRow], file: Path) -> int:
    from ostraka.guardian.admin.exports import write_audit

    try:
        with file.open("w", encoding="utf-8") as out:
            return write_audit(rows, out)
    except OSError as exc:
        raise unwritable(file, exc) from exc
