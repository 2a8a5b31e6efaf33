"""`python -m deploy.images`: build the images, show their sizes, renew their lock files."""

import subprocess
from typing import Annotated

import typer

from deploy.images import build, locks
from deploy.images.roles import ROLES

app = typer.Typer(help=__doc__, no_args_is_help=True, add_completion=False)


@app.command("build")
def build_images(device: Annotated[str, typer.Option(help="cpu or cuda")] = "cpu") -> None:
    """Build the three images and show their sizes."""
    build.build(ROLES, device=device)
    for role in ROLES:
        image = build.tag(role, device)
        typer.echo(f"{image:<32} {build.size(image) / 1e6:6.0f} MB")


@app.command("locks")
def write_locks() -> None:
    """Resolve all lock files anew."""
    for lock, wanted in locks.files().items():
        typer.echo(lock)
        locks.write(lock, wanted)


if __name__ == "__main__":
    app()
