"""The federation of docker-compose.yml: who is in it, where each is reached, and what each site.toml says."""

from typing import Any

from ostraka.common.config import SiteConfig
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.site_tables import Tables, tables

NAME = "clinics"
GUARDIAN, ADMIN, QUERY = "guardian", "admin", "delta"
HOSPITALS = ("alpha", "beta", "gamma")
ENCRYPTED = 100
"""Records that the querying party asks about encrypted, in a pool of their own."""

SETTINGS = Settings(
    parties=len(HOSPITALS),
    teachers=30,
    head="linear",
    labelled=40,
    queries=200 + ENCRYPTED,
    sigma1=22.0,
    sigma2=11.0,
    threshold=36.0,
)
"""Who holds how many digits. Teachers have linear heads, which also vote on encrypted queries."""

GUARDIAN_PORT, METRICS_PORT = 7000, 9100
DATABASE, DATABASE_HOST = "ostraka", "postgres"
URL_FILE = "database.url"


def addressed(site: SiteConfig) -> SiteConfig:
    """Return the configuration with the addresses of containers: a service is reached at its name."""
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

    A server's metrics are served in the network that it shares with Prometheus alone. The querying party's
    are in all of its networks: `docker compose run` gives a container no name in any of them. They tell
    nothing of budgets.
    """
    host = "0.0.0.0" if role == "query" else f"metrics.{site}"  # noqa: S104
    ledger = {"url_file": URL_FILE, "address": f"{GUARDIAN}:{GUARDIAN_PORT}"}
    return {
        **tables(role, SETTINGS),
        **({"ledger": ledger} if role == "guardian" else {}),
        **({"telemetry": {"metrics": f"{host}:{METRICS_PORT}"}} if role != "admin" else {}),
    }


def database_url(password: str) -> str:
    """Return the URL of the ledger's database, whose user has the same name as the database."""
    return f"postgresql+psycopg://{DATABASE}:{password}@{DATABASE_HOST}/{DATABASE}"
