"""`ostraka guardian`: serve, and every group of administration."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.guardian.commands import (
    audit_commands,
    budget_commands,
    console_command,
    ledger_commands,
    party_commands,
    policy_commands,
    report_command,
    session_commands,
)
from ostraka.guardian.commands.operation_commands import add_operations
from ostraka.guardian.commands.options_and_output import GuardianSite
from ostraka.guardian.planning import cli as planning_cli

app = typer.Typer(help="Run and administer the privacy guardian.", no_args_is_help=True, add_completion=False)
for name, group in {
    "party": party_commands.app,
    "budget": budget_commands.app,
    "consent": budget_commands.consent_app,
    "policy": policy_commands.app,
    "session": session_commands.app,
    "audit": audit_commands.app,
    "ledger": ledger_commands.app,
}.items():
    app.add_typer(group, name=name)
app.command("plan")(planning_cli.plan)
app.command("report")(report_command.report)
app.command("console")(console_command.console)
add_operations(
    app, "", party_commands.show_revocations, **{"publish-epsilon": budget_commands.show_published}
)


@app.command()
def serve(
    site: GuardianSite,
    ready_file: Annotated[Path | None, typer.Option(help="File to write once requests are taken.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS; loopback only.")] = False,
    votes_may_tell: Annotated[
        bool,
        typer.Option(
            "--stops-and-times-tell-votes",
            help="Allow policies that enforce data_dependent costs; for simulations and research only.",
        ),
    ] = False,
) -> None:
    """Serve sessions until stopped."""
    from ostraka.guardian.serving.server import serve as serve_guardian

    serve_guardian(site, ready_file=ready_file, insecure=insecure, votes_may_tell=votes_may_tell)
