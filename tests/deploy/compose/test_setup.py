import os
import re
from pathlib import Path

import numpy as np
import pytest
import yaml

from ostraka.common.config import load_section, load_site
from ostraka.common.datasets import load
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.task import load_task
from ostraka.common.telemetry.registry import TelemetrySection
from ostraka.deploy.compose import setup
from ostraka.deploy.compose.setup import ADMIN, GUARDIAN, HOSPITALS, QUERY
from ostraka.guardian.ledger.site import LedgerSettings, ledger_location
from ostraka.guardian.policy import load_policy
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.teachers.config import TrainingSection

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")

SITES = (GUARDIAN, ADMIN, *HOSPITALS, QUERY)


@pytest.fixture
def volumes(tmp_path: Path) -> Path:
    for name in setup.VOLUMES:
        (tmp_path / name).mkdir()
    return tmp_path


@pytest.fixture
def filled(volumes: Path) -> Path:
    setup.main(volumes)
    return volumes


def contents(volumes: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in volumes.rglob("*") if path.is_file()}


def test_every_site_can_be_loaded_and_is_reached_at_its_service(filled: Path) -> None:
    sites = {name: load_site(filled / name) for name in SITES}
    assert {name: Credentials.of(site).identity.site for name, site in sites.items()} == {
        name: GUARDIAN if name == ADMIN else name for name in SITES
    }
    assert {sites[name].guardian for name in SITES} == {"", "guardian:7000"}
    asked = dict(sites[QUERY].parties)
    assert asked == {name: f"{name}:{sites[name].listen.rpartition(':')[2]}" for name in HOSPITALS}
    assert load_section(filled / GUARDIAN, "ledger", LedgerSettings).address == "guardian:7000"


@pytest.mark.parametrize("server", [GUARDIAN, *HOSPITALS])
def test_metrics_are_served_where_prometheus_alone_reads_them(filled: Path, server: str) -> None:
    host, _, port = str(load_section(filled / server, "telemetry", TelemetrySection).metrics).rpartition(":")
    services = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]
    named = [name for name, found in services[server]["networks"].items() if host in found.get("aliases", ())]
    assert [name for name in services if set(named) & set(services[name].get("networks", ()))] == [
        server,
        "prometheus",
    ]
    scraped = yaml.safe_load(Path("ostraka/deploy/prometheus/prometheus.yml").read_text())["scrape_configs"]
    assert f"{host}:{port}" in [place for job in scraped for place in job["static_configs"][0]["targets"]]


def test_prometheus_answers_in_no_network_of_a_server() -> None:
    prometheus = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]["prometheus"]
    (listen,) = [one.partition("=")[2] for one in prometheus["command"] if "listen-address" in one]
    networks = prometheus["networks"]
    named = [name for name in networks if listen.rpartition(":")[0] in networks[name].get("aliases", ())]
    assert named == ["monitoring"]


def test_every_hospital_gets_a_budget_of_its_own_and_votes_weigh_by_it() -> None:
    services = yaml.safe_load(Path("docker-compose.yml").read_text())["services"]
    (command,) = services["budgets"]["command"]
    given = dict(re.findall(r"(\w+)=(\d+)", command))
    assert set(given) == set(HOSPITALS)
    assert len(set(given.values())) == len(HOSPITALS)
    for ask in ("delta", "delta-confidential", "delta-model"):
        assert "--variant weighting" in services[ask]["command"][0]


def test_everybody_who_releases_allows_votes_and_sums(filled: Path) -> None:
    parties = [load_section(filled / name, "policy", PartyPolicy) for name in HOSPITALS]
    named = [load_policy(filled / GUARDIAN).mechanisms, *(policy.mechanisms for policy in parties)]
    assert set(named) == {("votes", "sums", "dp_ttac")}


def test_hospitals_hold_different_digits_of_one_task(filled: Path) -> None:
    tasks = {load_task(filled / name / "task.toml").digest for name in (*HOSPITALS, QUERY)}
    assert len(tasks) == 1
    shards = [load(filled / name / "data.npz").X for name in HOSPITALS]
    files = ("labelled", "test", "pool", "encrypted-pool")
    everything = np.concatenate([*shards, *(load(filled / QUERY / f"{name}.npz").X for name in files)])
    assert len(everything) == 1797
    assert load_section(filled / HOSPITALS[0], "training", TrainingSection).head == "linear"


def test_the_database_and_the_guardian_have_one_password(filled: Path) -> None:
    password = (filled / setup.DATABASE_SECRET / "password").read_text()
    assert ledger_location(filled / GUARDIAN) == f"postgresql+psycopg://ostraka:{password}@postgres/ostraka"


def test_secrets_are_their_owners_alone_and_the_ca_stays_behind(filled: Path) -> None:
    for name in SITES:
        volume = filled / name
        assert (volume.stat().st_uid, volume.stat().st_mode & 0o777) == (setup.USER, 0o700)
        secrets = [*volume.glob("*.key"), *volume.glob("*.url")]
        assert all(
            (file.stat().st_uid, file.stat().st_mode & 0o777) == (setup.USER, 0o600) for file in secrets
        )
    keys = {path.relative_to(filled).parts[0] for path in filled.rglob("ca.key")}
    assert keys == {"ca"}


def test_a_second_start_changes_nothing(filled: Path) -> None:
    before = contents(filled)
    setup.main(filled)
    assert contents(filled) == before


def test_one_that_was_interrupted_is_begun_anew_as_a_whole(filled: Path) -> None:
    (filled / "ca" / setup.DONE).unlink()
    before = contents(filled)
    setup.main(filled)
    after = contents(filled)
    assert all(before[filled / name / "ca.crt"] != after[filled / name / "ca.crt"] for name in SITES)
    assert len({after[filled / name / "ca.crt"] for name in SITES}) == 1


def test_a_volume_that_is_not_mounted_is_named(volumes: Path) -> None:
    (volumes / "beta").rmdir()
    with pytest.raises(OstrakaError, match=f"No volume is mounted at {volumes / 'beta'}") as caught:
        setup.main(volumes)
    assert caught.value.code == ErrorCode.CONFIG_INVALID
    assert not contents(volumes)
