"""Options that several commands of the guardian have."""

from pathlib import Path
from typing import Annotated

import typer

Site = Annotated[Path, typer.Option("--site", help="Your site folder made by `ostraka provision`.")]
GuardianSite = Annotated[Path, typer.Option("--site", help="The guardian's own site folder.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]
AnyParty = Annotated[str, typer.Option("--party", help="Show only this party.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column.")]
