"""`ostraka guardian`: the server, and every group of administration."""

from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.commands import CommandGroup
from ostraka.guardian.commands.options_and_output import GuardianSite

app = CommandGroup("Run and administer the privacy guardian.")
_COMMANDS = "ostraka.guardian.commands"
for name, target, summary in (
    ("party", f"{_COMMANDS}.party_commands:app", "Manage the answering parties."),
    ("budget", f"{_COMMANDS}.budget_commands:app", "Show and change budgets of units."),
    (
        "consent",
        f"{_COMMANDS}.budget_commands:consent_app",
        "Set or withdraw the consent of a group of records.",
    ),
    ("policy", f"{_COMMANDS}.policy_commands:app", "Show, check and apply the federation's policy."),
    ("session", f"{_COMMANDS}.session_commands:app", "List, show and cancel sessions."),
    ("audit", f"{_COMMANDS}.audit_commands:app", "Verify and export the audit log, and verify archives."),
    (
        "ledger",
        f"{_COMMANDS}.ledger_commands:app",
        "Back up, archive, restore and migrate the guardian's ledger.",
    ),
    (
        "plan",
        "ostraka.guardian.planning.cli:plan",
        "Predict the privacy cost of labels or sums for each party, and propose the order of its budget.",
    ),
    (
        "report",
        f"{_COMMANDS}.report_command:report",
        "Write a report: charges by party, session and bound, and what is left of the budgets.",
    ),
    (
        "console",
        f"{_COMMANDS}.console_command:console",
        "Serve the guardian's web console until stopped.",
    ),
    (
        "revoke",
        f"{_COMMANDS}.party_commands:revoke",
        "Put the CA's revocation list into force: disconnect every site on it, and exclude it from batches.",
    ),
    (
        "publish-epsilon",
        f"{_COMMANDS}.budget_commands:publish_epsilon",
        "Publish, with noise, what a unit has spent by theorem6; charge every unit whose votes this reveals.",
    ),
):
    app.add_lazy(name, target, summary)


@app.command()
def serve(
    site: GuardianSite,
    ready_file: Annotated[
        Path | None, typer.Option(help="File to write once the server accepts requests.")
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Serve without TLS, on loopback only.")
    ] = False,
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
