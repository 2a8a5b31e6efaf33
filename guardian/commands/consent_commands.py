"""`ostraka guardian consent`: which level of the policy a group of records has."""

from typing import Annotated

import typer

from ostraka.guardian.commands.budgets_table import show_budgets
from ostraka.guardian.commands.options import Adjacency, Group, Json, MaybeReason, Order, Party, Reason, Site
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Consent levels of groups.", no_args_is_help=True)


@app.command("set")
def set_(
    site: Site,
    party: Party,
    group: Group,
    level: Annotated[str, typer.Option(help="A consent level of the policy in force.")],
    adjacency: Adjacency = "record",
    order: Order = 0,
    reason: MaybeReason = "",
    json: Json = None,
) -> None:
    """Give a group the budget of a consent level, or lower it to one."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.SetConsentRequest(
        party=party, group=group, level=level, adjacency=adjacency, order=order, reason=reason
    )
    show_budgets([admin_call(site, lambda stub: stub.SetConsent(request)).budget], json)


@app.command()
def withdraw(
    site: Site, party: Party, group: Group, reason: Reason, adjacency: Adjacency = "record", json: Json = None
) -> None:
    """End a group's participation from the next batch on, until its party signs that it consents again."""
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.WithdrawConsentRequest(party=party, group=group, adjacency=adjacency, reason=reason)
    show_budgets([admin_call(site, lambda stub: stub.WithdrawConsent(request)).budget], json)
