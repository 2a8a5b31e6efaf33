"""`ostraka guardian`: serve, budgets, sessions, audit."""

from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from rich.console import Console
from rich.table import Table

from common.cli import write_json
from guardian.planning import cli as planning_cli
from protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Run and administer the privacy guardian.", no_args_is_help=True)
budget = typer.Typer(help="Budgets of units.", no_args_is_help=True)
session = typer.Typer(help="Sessions.", no_args_is_help=True)
audit = typer.Typer(help="The audit log.", no_args_is_help=True)
app.add_typer(budget, name="budget")
app.add_typer(session, name="session")
app.add_typer(audit, name="audit")
app.command("plan")(planning_cli.plan)

Site = Annotated[Path, typer.Option("--site", help="Site folder made by `ostraka provision`.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


@app.command()
def serve(
    site: Site,
    ready_file: Annotated[Path | None, typer.Option(help="Written once requests are taken.")] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="No TLS; loopback only.")] = False,
) -> None:
    """Serve sessions until stopped."""
    from guardian.server import serve as serve_guardian

    serve_guardian(site, ready_file=ready_file, insecure=insecure)


@budget.command("show")
def budget_show(
    site: Site, party: Annotated[str, typer.Option(help="Only this party.")] = "", json: Json = None
) -> None:
    """Show budgets with their worst-case charges."""
    from guardian.admin.client import admin_call

    reply = admin_call(site, lambda stub: stub.ListBudgets(admin_pb2.ListBudgetsRequest(party=party)))
    _show_budgets(list(reply.budgets), json)


@budget.command("set")
def budget_set(
    site: Site,
    party: Annotated[str, typer.Option(help="Site name of the party.")],
    epsilon: Annotated[float, typer.Option(min=0.0, help="What the unit may spend.")],
    delta: Annotated[float, typer.Option(min=0.0, max=1.0)] = 1e-5,
    group: Annotated[str, typer.Option(help="The party's group of records.")] = "all",
    adjacency: Annotated[str, typer.Option(help="record or label.")] = "record",
    order: Annotated[float, typer.Option(help="Renyi order of the filter; 0 lets the guardian propose.")] = 0,
    json: Json = None,
) -> None:
    """Set a unit's budget once, or lower it."""
    from guardian.admin.client import admin_call

    request = admin_pb2.SetBudgetRequest(
        party=party, group=group, adjacency=adjacency, epsilon=epsilon, delta=delta, order=order
    )
    reply = admin_call(site, lambda stub: stub.SetBudget(request))
    _show_budgets([reply.budget], json)


@session.command("list")
def session_list(site: Site, json: Json = None) -> None:
    """List sessions with what was asked and answered."""
    from guardian.admin.client import admin_call

    reply = admin_call(site, lambda stub: stub.ListSessions(admin_pb2.ListSessionsRequest()))
    if json is not None:
        write_json(_plain(reply), json)
        return
    table = Table("session", "querying party", "state", "queries", "asked", "answered")
    for s in reply.sessions:
        table.add_row(s.session_id, s.querier, s.state, str(s.queries), str(s.asked), str(s.answered))
    Console().print(table)


@audit.command("verify")
def audit_verify(
    ledger: Annotated[Path, typer.Option(help="The guardian's ledger.db.")],
    ca: Annotated[Path | None, typer.Option(help="CA certificate; else ca.crt beside the ledger.")] = None,
    head: Annotated[
        list[Path] | None,
        typer.Option("--head", help="A party's audit-head.pb, which must be in the log."),
    ] = None,
    json: Json = None,
) -> None:
    """Check the audit log's chain, signatures and balances."""
    from guardian.admin.verification import verify_ledger

    result = verify_ledger(ledger, ca or ledger.parent / "ca.crt", head or [])
    if json is not None:
        write_json(result, json)
        return
    Console().print(
        f"The audit log is intact: {result['entries']} entries, head {str(result['head'])[:16]}, "
        f"{result['heads_checked']} kept heads found in it.",
        soft_wrap=True,
    )


def _show_budgets(budgets: list[admin_pb2.Budget], json: str | None) -> None:
    if json is not None:
        write_json(_plain(admin_pb2.ListBudgetsReply(budgets=budgets)), json)
        return
    table = Table("party", "group", "adjacency", "epsilon", "delta", "order", "enforce", "worst-case epsilon")
    for b in budgets:
        table.add_row(
            b.party,
            b.group,
            b.adjacency,
            f"{b.epsilon:g}",
            f"{b.delta:g}",
            f"{b.order:g}",
            b.enforce,
            f"{b.epsilon_worst_case:.4f}",
        )
    Console().print(table)


def _plain(reply: admin_pb2.ListBudgetsReply | admin_pb2.ListSessionsReply) -> dict[str, object]:
    return dict(
        MessageToDict(reply, preserving_proto_field_name=True, always_print_fields_with_no_presence=True)
    )
