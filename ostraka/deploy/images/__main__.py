"""`python -m ostraka.deploy.images`: build the images, renew their lock files, and say what is in them."""

import subprocess
import sys
from functools import cache, partial
from typing import Annotated

import typer

from ostraka.common.telemetry import progress
from ostraka.deploy.images import build, locks, sbom, vulnerabilities
from ostraka.deploy.images.locks import ROLES

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
    """Resolve all lock files anew, at the newest versions that pyproject.toml allows."""
    for lock, wanted in locks.files().items():
        typer.echo(f"Resolving {lock}")
        locks.write(lock, wanted)


@app.command("sbom")
def write_sboms() -> None:
    """Write a bill of materials for every lock file to build/sbom."""
    for lock in locks.files():
        typer.echo(sbom.write(lock))


@app.command("audit")
def audit_locks() -> None:
    """Look all locked packages up among known vulnerabilities; exit 1 on a finding."""
    with progress() as bar, vulnerabilities.pypi() as index:
        # The locks have most packages in common: each is asked about once.
        ask = cache(partial(vulnerabilities.project, index))
        names = bar.track(list(locks.files()), description="Looking up")
        results = {lock: vulnerabilities.audit(locks.FOLDER / lock, ask) for lock in names}
    if not any(result.looked_up for result in results.values()):
        typer.echo("Skipped: the database of vulnerabilities at pypi.org cannot be reached from here.")
        return
    for lock, result in results.items():
        typer.echo(f"{lock}: {result.looked_up} packages looked up, {len(result.findings)} findings")
        if result.unknown:
            typer.echo(f"  versions that the database does not have: {', '.join(result.unknown)}")
        for finding in result.findings:
            typer.echo(f"  {finding}")
    if any(result.findings for result in results.values()):
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; exit 2 with one sentence where a tool is missing or has failed."""
    try:
        app()
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(2)


if __name__ == "__main__":
    main()
