"""A real Prometheus scrapes real servers, and answers what the dashboard asks."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import yaml

from tests.addresses import free_addresses
from tests.deploy.monitoring.observed import QUERIES, Observed
from tests.deploy.monitoring.test_dashboards import RULES, expressions
from tests.guardian.federation import PARTIES
from tests.skips import skip_or_fail
from tests.waiting import until

SCRAPED_S = 120.0


@pytest.fixture
def binary() -> str:
    """Prometheus of Debian's package, installed where it is missing."""
    if shutil.which("prometheus") is None and shutil.which("apt-get"):
        subprocess.run(["apt-get", "update"], stdin=subprocess.DEVNULL)
        install = ["apt-get", "install", "-y", "--no-install-recommends", "prometheus"]
        subprocess.run(install, stdin=subprocess.DEVNULL)
    found = shutil.which("prometheus")
    if found is None:
        skip_or_fail("prometheus is not installed and could not be")
    return found


class Prometheus:
    def __init__(self, address: str) -> None:
        self._address = address

    def query(self, expression: str) -> list[dict[str, Any]]:
        with urlopen(f"http://{self._address}/api/v1/query?query={quote(expression)}") as reply:
            told = json.load(reply)
        assert told["status"] == "success"
        result: list[dict[str, Any]] = told["data"]["result"]
        return result

    def wait_for(self, expression: str, series: int) -> None:
        """Return once a query has so many series."""
        until(lambda: self._series_of(expression) == series, SCRAPED_S, every_s=0.2)

    def _series_of(self, expression: str) -> int | None:
        """How many series a query has; None while nobody answers."""
        try:
            return len(self.query(expression))
        except (URLError, ConnectionError):
            return None


@contextmanager
def prometheus(binary: str, folder: Path, targets: dict[str, str]) -> Iterator[Prometheus]:
    """One that scrapes the targets, by job's name and site, every half second."""
    jobs = [
        {"job_name": "guardian", "static_configs": [{"targets": [targets["guardian"]]}]},
        {"job_name": "party", "static_configs": [{"targets": [targets[name] for name in PARTIES]}]},
    ]
    every = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
    config = {"global": every, "rule_files": [str(RULES)], "scrape_configs": jobs}
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    (address,) = free_addresses(1)
    command = [binary, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
        try:
            yield Prometheus(address)
        finally:
            process.terminate()
            process.wait()


@pytest.mark.heavy
def test_prometheus_scrapes_every_server_and_answers_the_dashboard(
    observed: Observed, agreeing: dict[str, Path], binary: str, tmp_path: Path
) -> None:
    names = ("guardian", *PARTIES)
    targets = dict(zip(names, free_addresses(len(names)), strict=True))
    with (
        observed.serving(agreeing, targets) as (_, registries),
        prometheus(binary, tmp_path, targets) as scraping,
    ):
        scraping.wait_for("up == 1", 4)
        observed.label(registries)
        scraping.wait_for(f"sum(ostraka_guardian_queries_total) == {QUERIES}", 1)
        scraping.wait_for("sum by (instance) (ostraka_party_batches_total) == 2", 3)
        scraping.wait_for("ostraka_guardian_budget_remaining_ratio", 3)
        for expression in expressions():
            scraping.query(expression)
        assert scraping.query('ALERTS{alertname!="OstrakaCertificateExpires"}') == []
