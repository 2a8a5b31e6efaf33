"""The tables of site.toml that belong to one role."""

from pathlib import Path

from common.config import load_section
from common.errors import OstrakaError
from common.telemetry.registry import TelemetrySection
from deploy.site.checks.finding import Finding, failed, ok

TABLES = "site.toml tables"


def tables(folder: Path, role: str) -> Finding:
    """Whether the tables that a server of this role reads are valid."""
    try:
        load_section(folder, "telemetry", TelemetrySection)
        if role == "guardian":
            from guardian.ledger.site import ledger_location
            from guardian.policy import load_policy

            load_policy(folder)
            ledger_location(folder)
        elif role == "party":
            from services.policy import PartySection, Policy

            load_section(folder, "party", PartySection)
            load_section(folder, "policy", Policy)
        elif role == "query":
            from client.encoding import QuerySection

            load_section(folder, "query", QuerySection)
    except OstrakaError as error:
        return failed(TABLES, error.message)
    return ok(TABLES, "Its tables are valid.")
