"""`ostraka guardian ledger`: backups, archives and migrations, on the guardian's own machine."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.texts import count_text
from ostraka.guardian.commands.options_and_output import GuardianSite, Json, say

app = CommandGroup("Back up, archive, restore and migrate the guardian's ledger.")


@app.command()
def backup(
    site: GuardianSite,
    out: Annotated[Path, typer.Option(help="File to write; it must not exist.")],
    json: Json = None,
) -> None:
    """Copy the ledger into one file; a guardian may keep serving meanwhile."""
    from ostraka.guardian.admin.upkeep import back_up

    entries = back_up(site, out)
    write_json({"file": str(out), "entries": entries}, json)
    say(
        f"Wrote {out}, up to audit row {entries}. The key {site / 'ledger.key'} is not in it: keep it too.",
        json,
    )


@app.command()
def archive(
    site: GuardianSite,
    out: Annotated[Path, typer.Option(help="File to write, .jsonl.gz; it must not exist.")],
    before: Annotated[
        datetime,
        typer.Option(formats=["%Y-%m-%d"], help="First day (UTC) that is left out, such as 2026-01-01."),
    ],
    after: Annotated[
        Path | None,
        typer.Option(help="The previous archive, which this one continues. Default: start at the first row."),
    ] = None,
    json: Json = None,
) -> None:
    """Write all that ended before a day into one file that can be verified alone; the ledger keeps it too."""
    from ostraka.common.telemetry import progress
    from ostraka.guardian.admin.upkeep import write_archive

    with progress() as shown:
        bar = shown.add_task("audit rows", total=None)
        made = write_archive(
            site, out, before, after, lambda row, last: shown.update(bar, completed=row, total=last)
        )
    write_json({"file": str(out), **asdict(made)}, json)
    say(
        f"Wrote {out}: audit rows {made.first} to {made.last}, "
        f"{count_text(made.sessions, 'session')}, {count_text(made.batches, 'batch', 'batches')}, "
        f"{count_text(made.charges, 'charge')}. Verified; the ledger keeps them all.",
        json,
    )


@app.command()
def restore(
    site: GuardianSite,
    source: Annotated[Path, typer.Option("--from", help="File from `ledger backup`.")],
    json: Json = None,
) -> None:
    """Restore a lost ledger from a backup. Sessions end, and parties report what they answered since."""
    from ostraka.guardian.admin.upkeep import restore as restore_backup

    epoch = restore_backup(site, source)
    write_json({"epoch": epoch}, json)
    say(
        f"Restored as epoch {epoch}. Sessions have ended; every party sends its receipts when it registers"
        " again, and votes no sooner.",
        json,
    )


@app.command()
def migrate(site: GuardianSite, json: Json = None) -> None:
    """Migrate an older ledger to this version; back it up first."""
    from ostraka.guardian.admin.upkeep import migrate as migrate_ledger

    version = migrate_ledger(site)
    write_json({"schema_version": version}, json)
    say(f"The ledger has schema version {version}.", json)
