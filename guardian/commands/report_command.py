"""`ostraka guardian report`: a page that a data-protection officer can file."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.common.cli import write_file, write_json
from ostraka.common.guarantees import NOTIONS
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.plain import plain
from ostraka.guardian.admin.times import span
from ostraka.guardian.commands.options import Json, Site
from ostraka.guardian.commands.output import say

if TYPE_CHECKING:
    from ostraka.guardian.admin.report import ChargeReport, UnitName

DAYS = ["%Y-%m-%d"]


def report(
    site: Site,
    out: Annotated[Path, typer.Option(help="The page to write.")],
    first: Annotated[
        datetime | None, typer.Option("--from", formats=DAYS, help="First day of charges (UTC); else all.")
    ] = None,
    last: Annotated[
        datetime | None, typer.Option("--to", formats=DAYS, help="Last day of charges (UTC); else today.")
    ] = None,
    json: Json = None,
) -> None:
    """Write who was charged what, for which session, under which bound, and what is left."""
    from ostraka.common.clock import SystemClock
    from ostraka.common.config import load_site
    from ostraka.guardian.admin.page import render
    from ostraka.guardian.admin.report import read_report

    federation, now = load_site(site).federation, int(SystemClock().now() * 1000)
    begin, end = span(first, last)
    found = admin_call(site, lambda stub: read_report(stub, federation, now, begin, end))
    write_file(out, render(found).encode())
    write_json(_values(found), json)
    say(f"Wrote {out}: {len(found.budgets)} budgets at audit head {found.head.sequence}.", json)


def _values(report: "ChargeReport") -> dict[str, Any]:
    return {
        "federation": report.federation,
        "made_unix_ms": report.made_unix_ms,
        "from_unix_ms": report.from_unix_ms,
        "to_unix_ms": report.to_unix_ms,
        "policy": plain(report.policy),
        "budgets": [plain(budget) for budget in report.budgets],
        "breaks": [
            {"unit": found.unit, **_notion(found.unit), **plain(found.event)} for found in report.breaks
        ],
        "charges": [asdict(charge) | _notion(charge.unit) for charge in report.charges],
        "unguaranteed": [{"unit": unit, "session_id": session} for unit, session in report.unguaranteed],
        "audit_head": plain(report.head),
    }


def _notion(unit: "UnitName") -> dict[str, str]:
    """Return what epsilons of a unit promise."""
    return {"notion": NOTIONS[unit[2]]}
