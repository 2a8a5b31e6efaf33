"""`ostraka party sign-raise` and `sign-consent`: a party's signed agreements, for an administrator to act
on."""

import math
from pathlib import Path
from typing import Annotated

import typer

from ostraka.common.console.cli import write_file, write_json
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.guarantees import NOTIONS
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2

Site = Annotated[Path, typer.Option("--site", help="The party's own site folder.")]
Group = Annotated[str, typer.Option(help="The group of records.")]
Number = Annotated[
    int,
    typer.Option(
        min=0, help="Number of earlier agreements on this group, from `ostraka guardian budget show --wide`."
    ),
]
Adjacency = Annotated[str, typer.Option(help="record or label.")]
Out = Annotated[Path, typer.Option(help="File for `ostraka guardian budget grant --agreement`.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]


def sign_raise(
    site: Site,
    group: Group,
    epsilon_before: Annotated[float, typer.Option(help="Current epsilon of the budget.")],
    epsilon: Annotated[float, typer.Option(help="New, larger epsilon.")],
    number: Number,
    out: Out,
    adjacency: Adjacency = "record",
    json: Json = None,
) -> None:
    """Sign an agreement to raise a group's budget. The raise breaks the lifetime guarantee."""
    if not 0 < epsilon_before < epsilon < math.inf:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"From epsilon {epsilon_before:g} to {epsilon:g} is no raise; give a larger --epsilon.",
        )
    agreed = _agreement(site, group, adjacency, number)
    agreed.action = "raise"
    agreed.epsilon_before = epsilon_before
    agreed.epsilon = epsilon
    _sign(site, agreed, out)
    _tell(agreed, f"to raise it from epsilon {epsilon_before:g} to {epsilon:g}", out, json)


def sign_consent(
    site: Site, group: Group, number: Number, out: Out, adjacency: Adjacency = "record", json: Json = None
) -> None:
    """Sign an agreement that a withdrawn group takes part again."""
    agreed = _agreement(site, group, adjacency, number)
    agreed.action = "consent"
    _sign(site, agreed, out)
    _tell(agreed, "that it takes part again", out, json)


def _agreement(site: Path, group: str, adjacency: str, number: int) -> common_pb2.Agreement:
    from ostraka.common.config import load_site, require_role

    require_role(site, "party")
    if adjacency not in {"record", "label"}:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "--adjacency: must be record or label.")
    return common_pb2.Agreement(site=load_site(site).site, group=group, adjacency=adjacency, number=number)


def _sign(site: Path, agreed: common_pb2.Agreement, out: Path) -> None:
    from ostraka.common.config import load_site
    from ostraka.common.identity import Credentials

    signed = Credentials.of(load_site(site)).sign(
        AGREEMENT_CONTEXT, agreed.SerializeToString(deterministic=True)
    )
    write_file(out, signed.SerializeToString())


def _tell(agreed: common_pb2.Agreement, what: str, out: Path, json: str | None) -> None:
    write_json(
        {
            "site": agreed.site,
            "group": agreed.group,
            "adjacency": agreed.adjacency,
            "notion": NOTIONS[agreed.adjacency],
            "action": agreed.action,
            "epsilon_before": agreed.epsilon_before,
            "epsilon": agreed.epsilon,
            "number": agreed.number,
            "file": str(out),
        },
        json,
    )
    if json != "-":
        # Only the guardian knows whether the unit's epsilons protect persons or records.
        unit = f"{agreed.site}/{agreed.group} ({agreed.adjacency})"
        typer.echo(f"Wrote {out}: {agreed.site} agrees about {unit}, number {agreed.number}, {what}.")
