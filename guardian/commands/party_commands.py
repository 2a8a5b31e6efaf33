"""`ostraka guardian party`: who may answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.times import day
from ostraka.guardian.commands.options import Json, Reason, Site
from ostraka.guardian.commands.output import tell
from ostraka.protos.ostraka.v1 import admin_pb2

app = typer.Typer(help="Parties: who may answer.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="PARTY", help="Site name of the party.")]


@app.command()
def add(site: Site, party: Name, reason: Reason, json: Json = None) -> None:
    """Let a party register, where the policy admits only those that were added."""
    _set(site, party, "added", reason, json)


@app.command()
def suspend(site: Site, party: Name, reason: Reason, json: Json = None) -> None:
    """Keep a party out of sessions, from the next batch on, until it is resumed."""
    _set(site, party, "suspended", reason, json)


@app.command()
def resume(site: Site, party: Name, reason: Reason, json: Json = None) -> None:
    """Let a suspended party take part again."""
    _set(site, party, "active", reason, json)


@app.command()
def remove(
    site: Site,
    party: Name,
    reason: Reason,
    yes: Annotated[bool, typer.Option("--yes", help="You know that this is final.")] = False,
    json: Json = None,
) -> None:
    """Remove a party for good; what it spent stays in the ledger."""
    if not yes:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Party {party} could never take part again under this name; add --yes if that is what you want.",
        )
    _set(site, party, "removed", reason, json)


@app.command("list")
def list_(site: Site, json: Json = None) -> None:
    """List parties with their standing."""
    _show(_parties(site, ""), json)


@app.command()
def show(site: Site, party: Name, json: Json = None) -> None:
    """Show a party's standing and the groups of its manifest."""
    (info,) = found = _parties(site, party)
    tell(
        {"parties": found},
        ("group", "records", "teachers", "teachers a record touches"),
        [(g.name, str(g.records), str(g.teachers), str(g.copies or 1)) for g in info.groups],
        json,
    )
    if json != "-":
        typer.echo(
            f"{info.site} is {info.state} since {day(info.since_unix_s)}; teachers"
            f" {'mixed' if info.mixed else 'of one group each'}, trained as: {info.training or 'not said'};"
            f" one person changes at most {info.max_votes_per_person} votes of a query."
            f"{_learned(info)}"
        )


def _set(site: Path, party: str, state: str, reason: str, json: str | None) -> None:
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.SetPartyRequest(party=party, state=state, reason=reason)
    reply = admin_call(site, lambda stub: stub.SetParty(request))
    _show([reply.party], json)


def _parties(site: Path, party: str) -> list[admin_pb2.PartyInfo]:
    from ostraka.guardian.admin.client import admin_call

    request = admin_pb2.ListPartiesRequest(party=party)
    return admin_call(site, lambda stub: list(stub.ListParties(request)))


def _learned(info: admin_pb2.PartyInfo) -> str:
    if info.shared_features:
        return " They learned from features that all sites know, and protect labels alone (label-DP)."
    if not info.together:
        return ""
    guarantee = "; no formal guarantee" if info.together == "ttac" else ""
    return f" They learned with teachers of other parties by {info.together}{guarantee}."


def _show(found: Sequence[admin_pb2.PartyInfo], json: str | None) -> None:
    rows = [
        (p.site, p.state, day(p.since_unix_s), ", ".join(g.name for g in p.groups), p.training, p.together)
        for p in found
    ]
    tell({"parties": found}, ("party", "state", "since", "groups", "training", "together"), rows, json)
