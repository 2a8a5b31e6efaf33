"""`ostraka guardian report`: pages that a data-protection officer can file."""

from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostraka.common.console.cli import write_file, write_json
from ostraka.common.console.texts import count_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.exports import plain
from ostraka.guardian.admin.texts import budget_notion
from ostraka.guardian.commands.options_and_output import Json, Site, say

if TYPE_CHECKING:
    from ostraka.guardian.admin.report import ChargeReport

DAYS = ["%Y-%m-%d"]


def report(
    site: Site,
    out: Annotated[
        Path | None, typer.Option(help="HTML file to write. With --dpia: Markdown file; default: stdout.")
    ] = None,
    first: Annotated[
        datetime | None,
        typer.Option(
            "--from", formats=DAYS, help="First day of the charges (UTC). Default: the first of all."
        ),
    ] = None,
    last: Annotated[
        datetime | None,
        typer.Option("--to", formats=DAYS, help="Last day of the charges (UTC). Default: today."),
    ] = None,
    confidential: Annotated[
        bool,
        typer.Option(
            "--confidential",
            help="Include data-dependent costs, which must never be published. Needs the ledger's key.",
        ),
    ] = False,
    ledger_key: Annotated[
        Path | None,
        typer.Option(
            help="With --confidential: file with the ledger's key. Default: ledger.key in the site folder."
        ),
    ] = None,
    dpia: Annotated[
        bool,
        typer.Option(
            "--dpia", help="Write the figures for a data-protection impact assessment, as Markdown."
        ),
    ] = False,
    json: Json = None,
) -> None:
    """Write a report: charges by party, session and bound, and what is left of the budgets."""
    if dpia:
        if confidential or ledger_key or first or last:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                "An assessment covers worst-case totals of all time; leave out --from, --to, "
                "--confidential and --ledger-key.",
            )
        _assess(site, out, json)
        return
    if out is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "Name the HTML file to write, as --out report.html.")
    if confidential:
        _confidential(site, out, ledger_key or site / "ledger.key", json, dated=bool(first or last))
        return
    if ledger_key is not None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "--ledger-key belongs to --confidential; add it, or leave both."
        )
    from ostraka.guardian.admin.report import render
    from ostraka.guardian.guardian import Guardian

    found = Guardian(site).report(first, last)
    write_file(out, render(found).encode())
    write_json(_values(found), json)
    say(f"Wrote {out}: {count_text(len(found.budgets), 'budget')} at audit head {found.head.sequence}.", json)


def _confidential(site: Path, out: Path, key: Path, json: str | None, *, dated: bool) -> None:
    """Write the page of data-dependent totals, for an administrator who holds the ledger's key."""
    from ostraka.common.clock import SystemClock
    from ostraka.common.config import load_site
    from ostraka.guardian.admin.client import admin_call
    from ostraka.guardian.admin.confidential import MARK, read_key, read_totals, render_confidential

    if dated:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "A confidential report has totals of all time; leave out --from and --to.",
        )
    cipher = read_key(key)
    federation = load_site(site).federation
    units = admin_call(site, lambda stub: read_totals(stub, cipher))
    write_file(out, render_confidential(federation, int(SystemClock().now() * 1000), units).encode())
    write_json({"marking": MARK, "federation": federation, "units": units}, json)
    say(f"Wrote {out}: {count_text(len(units), 'unit')}; {MARK}.", json)


def _assess(site: Path, out: Path | None, json: str | None) -> None:
    """Write the figures of an assessment."""
    from ostraka.common.clock import SystemClock
    from ostraka.common.config import load_site
    from ostraka.common.tls_minimum import tls_minimum
    from ostraka.guardian.admin.client import admin_call
    from ostraka.guardian.admin.dpia import meanings, read_assessment, render_markdown

    federation = load_site(site).federation
    now = int(SystemClock().now() * 1000)
    found = admin_call(site, lambda stub: read_assessment(stub, federation, now, tls_minimum()))
    page = render_markdown(found)
    if out is not None:
        write_file(out, page.encode())
    values = {
        **_values(found.charges),
        "parties": [plain(party) for party in found.parties],
        "sessions": found.sessions,
        "queriers": found.queriers,
        "policy_values": found.policy.model_dump(mode="json"),
        "meanings": [asdict(meaning) for meaning in meanings(found.charges.budgets)],
        "logged": {kind: asdict(logged) for kind, logged in found.logged.items()},
        "tls": found.tls,
    }
    write_json(values, json)
    head = found.charges.head.sequence
    parties = count_text(len(found.parties), "party", "parties")
    say(
        page.rstrip() if out is None else f"Wrote {out}: {parties} at audit head {head}.",
        json,
    )


def _values(report: "ChargeReport") -> dict[str, Any]:
    from ostraka.guardian.admin.report import name_of

    notions = {name_of(budget): {"notion": budget_notion(budget)} for budget in report.budgets}
    return {
        "federation": report.federation,
        "made_unix_ms": report.made_unix_ms,
        "from_unix_ms": report.from_unix_ms,
        "to_unix_ms": report.to_unix_ms,
        "policy": plain(report.policy),
        "budgets": [plain(budget) for budget in report.budgets],
        "breaks": [
            {"unit": found.unit, **notions[found.unit], **plain(found.event)} for found in report.breaks
        ],
        "charges": [asdict(charge) | notions[charge.unit] for charge in report.charges],
        "unguaranteed": [{"unit": unit, "session_id": session} for unit, session in report.unguaranteed],
        "audit_head": plain(report.head),
    }
