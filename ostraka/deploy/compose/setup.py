"""The federation of docker-compose.yml, and the one-time setup of its volumes: keys, settings, records."""

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from ostraka.common.config import SITE_FILE, SiteConfig, load_site, write_site
from ostraka.common.console.cli import run
from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import infer_task, write_task
from ostraka.deploy.provisioning import provision
from ostraka.deploy.provisioning.policy_draft import MECHANISMS
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.site_tables import Tables, tables
from ostraka.deploy.simulation.split import Split, split_data

NAME = "clinics"
GUARDIAN = "guardian"
ADMIN = "admin"
QUERY = "delta"
HOSPITALS = ("alpha", "beta", "gamma")
ENCRYPTED = 100
"""Number of records that the querying party asks about encrypted, in their own pool."""

SETTINGS = Settings(
    parties=len(HOSPITALS),
    teachers=30,
    head="linear",
    labelled=40,
    queries=200 + ENCRYPTED,
    mechanism="confident:sigma1=22,sigma2=11,threshold=36",
)
"""Each party's number of digits. Teachers have linear heads, which also vote on encrypted queries."""

GUARDIAN_PORT = 7000  # the parties' ports follow, so that each port identifies one server
METRICS_PORT = 9100  # the port in docs/monitoring.md, which the images expose
DATABASE = "ostraka"
DATABASE_HOST = "postgres"
URL_FILE = "database.url"


def site_in_containers(site: SiteConfig) -> SiteConfig:
    """Return the configuration with addresses of containers: a service is reached under its name."""
    ports = {hospital: GUARDIAN_PORT + number for number, hospital in enumerate(HOSPITALS, start=1)}
    update: dict[str, Any] = {}
    if site.role in ("guardian", "party"):
        update["listen"] = f"0.0.0.0:{ports.get(site.site, GUARDIAN_PORT)}"
    if site.role != "guardian":
        update["guardian"] = f"{GUARDIAN}:{GUARDIAN_PORT}"
    if site.parties:
        update["parties"] = {hospital: f"{hospital}:{port}" for hospital, port in ports.items()}
    return site.model_copy(update=update)


def site_tables(site: str, role: str) -> Tables:
    """Return the tables of a site's site.toml: a simulation's, metrics, and the guardian's database.

    A server's metrics are served only in the network that it shares with Prometheus. The querying party's
    metrics are in all of its networks, because `docker compose run` gives a container no name in any of them.
    They reveal nothing about budgets.
    """
    host = "0.0.0.0" if role == "query" else f"metrics.{site}"  # noqa: S104
    ledger = {"url_file": URL_FILE, "address": f"{GUARDIAN}:{GUARDIAN_PORT}"}
    known = tables(role, SETTINGS)
    # Replaces the draft of `provision`, including its kinds of release.
    allowed = {"policy": {**known["policy"], "mechanisms": MECHANISMS}} if "policy" in known else {}
    return {
        **known,
        **allowed,
        **({"ledger": ledger} if role == "guardian" else {}),
        **({"telemetry": {"metrics": f"{host}:{METRICS_PORT}"}} if role != "admin" else {}),
    }


def database_url(password: str) -> str:
    """Return the URL of the ledger's database, whose user has the same name as the database."""
    return f"postgresql+psycopg://{DATABASE}:{password}@{DATABASE_HOST}/{DATABASE}"


DATABASE_SECRET = "database-secret"  # noqa: S105 - the name of a volume
REPORT = "report"
VOLUMES = (CA_FOLDER, GUARDIAN, ADMIN, *HOSPITALS, QUERY, DATABASE_SECRET, REPORT)
USER = 10001
"""The images' user and group."""
DONE = "done"


def main(volumes: Annotated[Path, typer.Argument(help="Where the volumes are.")] = Path("/volumes")) -> None:
    """Fill the volumes, unless an earlier start did; one that was interrupted is begun anew."""
    _require(volumes)
    done = volumes / CA_FOLDER / DONE
    if done.exists():
        typer.echo("The volumes are filled already; `docker compose down --volumes` begins anew.")
        return
    with TemporaryDirectory() as folder:
        sites = Path(folder) / "sites"
        fill(sites, volumes / DATABASE_SECRET)
        for site in sites.iterdir():
            shutil.copytree(site, volumes / site.name, dirs_exist_ok=True)
    for name in set(VOLUMES) - {CA_FOLDER, DATABASE_SECRET}:
        give_away(volumes / name)
    done.touch()
    typer.echo(f"Filled the volumes {', '.join(VOLUMES)}.")


def fill(sites: Path, secret: Path) -> None:
    """Write every site's folder below `sites`, and the database's password into the folder `secret`."""
    provision(NAME, HOSPITALS, QUERY, sites, guardian=GUARDIAN)
    for site in (GUARDIAN, ADMIN, *HOSPITALS, QUERY):
        configure(sites / site)
    deal_out(split_data(SETTINGS), sites)
    set_password(sites / GUARDIAN, secret)


def configure(site: Path) -> None:
    """Write a site's configuration with the addresses of containers and the tables of its role."""
    config = site_in_containers(load_site(site))
    write_site(config)
    with (site / SITE_FILE).open("a", encoding="utf-8") as file:
        for name, table in site_tables(config.site, config.role).items():
            file.write(f"\n[{name}]\n" + "".join(f"{key} = {json.dumps(table[key])}\n" for key in table))


def deal_out(split: Split, sites: Path) -> None:
    """Give every site its records and the task, whose ranges come from all records.

    A simulation may look at all parties' records for that; a real federation agrees on public ranges.
    """
    asked = replace(split.pool, y=split.truth)
    task = infer_task(split.test, SETTINGS.records.data, split.labelled, asked, *split.shards)
    for hospital, shard in zip(HOSPITALS, split.shards, strict=True):
        save(shard, sites / hospital / "data.npz")
    for name, records in asks(split).items():
        save(records, sites / QUERY / f"{name}.npz")
    for site in (*HOSPITALS, QUERY):
        write_task(task, sites / site / "task.toml")


def asks(split: Split) -> Mapping[str, Dataset]:
    """Return the querying party's files: its training and test data, and its pools, plain and encrypted."""
    plain = len(split.pool) - ENCRYPTED
    return {
        "labelled": split.labelled,
        "test": split.test,
        "pool": split.pool.take(slice(plain)),
        "encrypted-pool": split.pool.take(slice(plain, None)),
    }


def set_password(guardian: Path, secret: Path) -> None:
    """Draw the database's password, for the guardian in its URL and for PostgreSQL in a file."""
    password = secrets.token_urlsafe(32)
    url = guardian / URL_FILE
    url.touch(mode=0o600)
    url.write_text(database_url(password), encoding="utf-8")
    (secret / "password").write_text(password, encoding="utf-8")


def give_away(volume: Path) -> None:
    """Give a volume and its contents to the images' user, who alone may read it."""
    for path in (volume, *volume.rglob("*")):
        os.chown(path, USER, USER)
    volume.chmod(0o700)


def _require(volumes: Path) -> None:
    """Raise `config.invalid` for a volume that is not mounted."""
    missing = [name for name in VOLUMES if not (volumes / name).is_dir()]
    if missing:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"No volume is mounted at {volumes / missing[0]}; start this with docker-compose.yml.",
        )


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    run(app)
