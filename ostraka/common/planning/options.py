"""Command-line options that all plans have."""

from pathlib import Path
from typing import Annotated

import typer

Plot = Annotated[Path | None, typer.Option("--plot", help="Draw epsilon against queries: .png or .svg.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]
