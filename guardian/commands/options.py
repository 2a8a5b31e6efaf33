"""Options that several commands of the guardian have."""

from pathlib import Path
from typing import Annotated

import typer

Site = Annotated[Path, typer.Option("--site", help="Your site folder made by `ostraka provision`.")]
GuardianSite = Annotated[Path, typer.Option("--site", help="The guardian's own site folder.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]
Party = Annotated[str, typer.Option(help="Site name of the party.")]
AnyParty = Annotated[str, typer.Option("--party", help="Only this party.")]
Group = Annotated[str, typer.Option(help="The party's group of records.")]
Adjacency = Annotated[str, typer.Option(help="record or label.")]
Order = Annotated[float, typer.Option(help="Renyi order of the filter; 0: the unit's own, else proposed.")]
MaybeReason = Annotated[
    str, typer.Option("--reason", help="Why, if you like; kept in the audit log for good.")
]
Reason = Annotated[str, typer.Option(help="Why; kept in the audit log for good.")]
