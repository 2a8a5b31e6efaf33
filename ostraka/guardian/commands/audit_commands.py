"""`ostraka guardian audit`: verify and export the tamper-evident log."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.cli import unwritable, write_file, write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.texts import count_text
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.commands.options_and_output import Json, Site, say
from ostraka.protos.ostraka.v1 import admin_pb2

app = CommandGroup("Verify and export the audit log, and verify archives.")


@app.command()
def verify(
    ledger: Annotated[Path | None, typer.Option(help="The guardian's ledger.db.")] = None,
    site: Annotated[
        Path | None, typer.Option(help="The guardian's site folder, which names its ledger.")
    ] = None,
    url: Annotated[str | None, typer.Option(help="URL of a ledger in PostgreSQL.")] = None,
    ca: Annotated[
        Path | None, typer.Option(help="The CA's certificate. Default: ca.crt in the ledger's folder.")
    ] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option("--head", help="A party's audit-head.pb that the log must contain."),
    ] = None,
    json: Json = None,
) -> None:
    """Verify a ledger's audit log: hash chain, signatures, balances. The guardian need not be running."""
    from ostraka.common.telemetry import progress
    from ostraka.guardian.admin.verification import locate, verify_ledger

    where, beside = locate(ledger, site, url, ca)
    with progress() as shown:
        bar = shown.add_task("audit rows", total=None)
        result = verify_ledger(
            where, beside, head or [], lambda row, last: shown.update(bar, completed=row, total=last)
        )
    write_json(asdict(result), json)
    say(
        f"The audit log is intact: {count_text(result.entries, 'entry', 'entries')}, "
        f"head {result.head[:16]}, {count_text(result.heads_checked, 'kept head')} found in it.",
        json,
    )


@app.command("verify-archive")
def verify_archive(
    archives: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Archives, the oldest first.")],
    ledger: Annotated[
        Path | None, typer.Option(help="A ledger.db that must continue the last archive.")
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(help="A guardian's site folder, whose ledger must continue the last archive."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="URL of a PostgreSQL ledger that must continue the last archive.")
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(
            help="The CA's certificate. Default: ca.crt in the folder of the ledger, else of the archive."
        ),
    ] = None,
    json: Json = None,
) -> None:
    """Verify archives, that each continues the one before, and that a ledger continues the last."""
    from ostraka.common.telemetry import progress
    from ostraka.guardian.admin.upkeep import verify_archives
    from ostraka.guardian.admin.verification import locate

    named = any(place is not None for place in (ledger, site, url))
    where, beside = locate(ledger, site, url, ca) if named else (None, ca or archives[0].parent / "ca.crt")
    with progress() as shown:
        bar = shown.add_task("audit rows", total=None)
        found = verify_archives(
            archives, beside, where, lambda row, last: shown.update(bar, completed=row, total=last)
        )
    write_json(asdict(found), json)
    then = f" The ledger continues from there to row {found.ledger_entries}." if found.ledger_entries else ""
    say(
        f"The archives are intact: audit rows {found.first} to {found.last}, "
        f"{count_text(found.sessions, 'session')}, {count_text(found.batches, 'batch', 'batches')}, "
        f"{count_text(found.charges, 'charge')}.{then}",
        json,
    )


@app.command("head")
def head_(
    site: Site,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, for `audit verify --head`.")],
    json: Json = None,
) -> None:
    """Write the audit log's latest signed head, for a later `audit verify --head`."""
    found = admin_call(site, lambda stub: stub.Head(admin_pb2.HeadRequest()))
    write_file(file, found.SerializeToString())
    write_json({"sequence": found.sequence, "hash": found.hash.hex()}, json)
    say(f"Wrote head {found.sequence}, {found.hash.hex()[:16]}, to {file}.", json)


@app.command()
def export(
    site: Site,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="File to write, with one JSON object on each line.")
    ],
    first: Annotated[int, typer.Option(min=1, help="First row to export.")] = 1,
    json: Json = None,
) -> None:
    """Export the audit log's rows with their signatures."""
    request = admin_pb2.ExportAuditRequest(first=first)
    rows = admin_call(site, lambda stub: _write_rows(stub.ExportAudit(request), file))
    write_json({"rows": rows, "first": first}, json)
    say(f"Wrote {count_text(rows, 'row')} to {file}.", json)


def _write_rows(rows: Iterable[admin_pb2.AuditRow], file: Path) -> int:
    from ostraka.guardian.admin.exports import write_audit

    try:
        with file.open("w", encoding="utf-8") as out:
            return write_audit(rows, out)
    except OSError as exc:
        raise unwritable(file, exc) from exc
