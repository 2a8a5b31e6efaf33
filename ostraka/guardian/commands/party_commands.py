"""`ostraka guardian party` and `revoke`: who may answer, and whose certificates are revoked."""

from collections.abc import Sequence
from pathlib import Path

import typer

from ostraka.common.console.cli import write_json
from ostraka.common.console.commands import CommandGroup
from ostraka.common.console.texts import count_text
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.exports import plain
from ostraka.guardian.admin.texts import day, records_text
from ostraka.guardian.commands.operation_commands import add_operations, command_of
from ostraka.guardian.commands.options_and_output import Json, Site, Wide, say, tell
from ostraka.guardian.operations.federation import PartyName, Revoke
from ostraka.protos.ostraka.v1 import admin_pb2

app = CommandGroup("Manage the answering parties.")


add_operations(app, "party", lambda reply, json: _show([reply.party], json))


@app.command("list")
def list_(site: Site, wide: Wide = False, json: Json = None) -> None:
    """List the parties with their status."""
    _show(_parties(site, ""), json, wide=wide)


@app.command()
def show(site: Site, party: PartyName, json: Json = None) -> None:
    """Show a party's status and the groups of its manifest."""
    (info,) = found = _parties(site, party)
    tell(
        {"parties": found},
        ("group", "records", "teachers", "teachers a record touches"),
        [(g.name, records_text(g), str(g.teachers), str(g.copies or 1)) for g in info.groups],
        json,
    )
    if json != "-":
        typer.echo(
            f"{info.site} is {info.state} since {day(info.since_unix_s)}; teachers"
            f" {'mixed' if info.mixed else 'of one group each'}, trained as: {info.training or 'not said'};"
            f" {_person_text(info)}{_training_text(info)}"
        )


def _parties(site: Path, party: str) -> list[admin_pb2.PartyInfo]:
    request = admin_pb2.ListPartiesRequest(party=party)
    return admin_call(site, lambda stub: list(stub.ListParties(request)))


def _person_text(info: admin_pb2.PartyInfo) -> str:
    votes = f"one person changes at most {count_text(info.max_votes_per_person, 'vote')} of a query"
    if info.whole_persons:
        return f"{votes}, by the ids of its records."
    return f"{votes} as the party states: its records do not say to whom they belong."


def _training_text(info: admin_pb2.PartyInfo) -> str:
    if info.shared_features:
        return " They learned from features that all sites know, and protect only labels (label-DP)."
    if not info.together:
        return ""
    guarantee = "; no formal guarantee" if info.together == "ttac" else ""
    return f" They were trained jointly with teachers of other parties by {info.together}{guarantee}."


def _show(found: Sequence[admin_pb2.PartyInfo], json: str | None, *, wide: bool = False) -> None:
    columns = ("party", "state", "since", "groups", "training", "together")[: None if wide else 4]
    rows = [
        (p.site, p.state, day(p.since_unix_s), ", ".join(g.name for g in p.groups), p.training, p.together)
        for p in found
    ]
    tell({"parties": found}, columns, [row[: len(columns)] for row in rows], json)


def _tell_revoked(reply: admin_pb2.RevokeReply, json: str | None) -> None:
    write_json(plain(reply), json)
    say(
        f"Revocation list {reply.number} is in force at the guardian, with"
        f" {count_text(reply.revoked, 'certificate')}; parties fetch it within 30 seconds.",
        json,
    )


revoke = command_of(Revoke, _tell_revoked)
