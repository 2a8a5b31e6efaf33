"""The tables of site.toml that belong to one role."""

from pathlib import Path

from ostraka.common.config import load_section, load_site, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.site.checks.finding import Finding, failed, ok

TABLES = "site.toml tables"


def tables(folder: Path, role: str) -> Finding:
    """Whether the tables that a server of this role reads are valid."""
    try:
        _apart(load_site(folder).listen, load_section(folder, "telemetry", TelemetrySection).metrics)
        if role == "guardian":
            from ostraka.guardian.ledger.site import ledger_location
            from ostraka.guardian.policy import load_policy

            load_policy(folder)
            ledger_location(folder)
        elif role == "party":
            from ostraka.services.admission.policy import PartyPolicy, PartySection

            load_section(folder, "party", PartySection)
            load_section(folder, "policy", PartyPolicy)
        elif role == "query":
            from ostraka.client.run.encoding import QuerySection

            load_section(folder, "query", QuerySection)
    except OstrakaError as error:
        return failed(TABLES, error.message)
    return ok(TABLES, "Its tables are valid.")


def _apart(listen: str, metrics: str | None) -> None:
    """Raise config.invalid where a server and its metrics share a port."""
    if not listen or not metrics:
        return
    if split_address(listen)[1] == split_address(metrics)[1] != 0:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"`listen` and `metrics` in site.toml share port {split_address(listen)[1]}; give one of them"
            " another.",
        )
