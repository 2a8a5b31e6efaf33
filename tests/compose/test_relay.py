"""Hospitals without a port, whose network leads out through a proxy alone, are asked by a relay."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.identity.certificate_requests import REQUEST
from ostraka.deploy.compose.setup import HOSPITALS, QUERY, SETTINGS, deal_out
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.deploy.provisioning.signing import sign_request
from ostraka.deploy.simulation.split import split_data
from ostraka.deploy.site.keys import init, install
from tests.compose import engine
from tests.compose.charges import NOISE, charged_batches, require_intact
from tests.compose.project import Project, docker, exit_status, state_of
from tests.compose.test_confined import places_of, reached

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

FOLDER = Path(__file__).parent / "behind_proxy"
QUERIES = 20
LABELLED_S = 300


@pytest.fixture(scope="module")
def behind_proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """Yield the running federation, whose hospitals are attached."""
    folder = tmp_path_factory.mktemp("behind-proxy")
    make_sites(folder)
    settings = folder / "compose.env"
    settings.write_text(f"OSTRAKA_KITS={folder / 'kits'}\nOSTRAKA_USER={os.getuid()}:{os.getgid()}\n")
    files = ("--env-file", str(settings), "--file", str(FOLDER / "compose.yml"))
    made = Project((*engine.prepare(), *files), "ostraka-behind-proxy")
    made.clean()
    try:
        made.compose("up", "--detach", "--no-build")
        for hospital in HOSPITALS:
            made.wait_healthy(hospital)
        yield made
    finally:
        print(f"Logs are in {made.save_logs()}.")
        made.clean()


def make_sites(folder: Path) -> None:
    """Make kits and keys, and give every site its records, below `folder`/kits."""
    clock = SystemClock()
    made = write_kits(FOLDER / "federation.toml", folder / "kits")
    for kit in made.kits.values():
        init(kit, made.fingerprint)
        install(kit, sign_request((kit / REQUEST).read_bytes(), made.ca, clock).certificates, clock)
    records = {site: made.kits[f"{site}-party"] for site in HOSPITALS} | {QUERY: made.kits[f"{QUERY}-query"]}
    dealt = folder / "records"
    dealt.mkdir()
    for site, kit in records.items():
        (dealt / site).symlink_to(kit)
    deal_out(split_data(SETTINGS), dealt)


def test_hospitals_have_no_port_and_reach_the_proxy_alone(behind_proxy: Project) -> None:
    beyond = [("relay.example", 443), ("guardian.example", 17700)]
    beyond += [
        place
        for service, port in (("relay", 443), ("guardian", 17700))
        for place in places_of(behind_proxy, service, port)
    ]
    others = [(other, 17701) for other in HOSPITALS]
    containers = behind_proxy.containers()
    for hospital in HOSPITALS:
        assert not any(containers[hospital]["NetworkSettings"]["Ports"].values())
        assert reached(behind_proxy, hospital, beyond) == []
        assert reached(behind_proxy, hospital, [place for place in others if place[0] != hospital]) == []
        assert reached(behind_proxy, hospital, [("proxy.example", 3128)])
    # What is beyond is there.
    assert reached(behind_proxy, "guardian", beyond) == beyond


def test_a_hospital_is_told_that_its_way_by_proxy_and_relay_is_open(behind_proxy: Project) -> None:
    said = docker("exec", behind_proxy.container("alpha"), "ostraka", "site", "check", "/site")
    assert "lets this site attach" in said
    assert "comes back to this site's own server" in said


def test_a_pool_is_labelled_through_the_proxy_and_charged_once(behind_proxy: Project) -> None:
    for hospital in HOSPITALS:
        behind_proxy.admin("budget", "set", "--party", hospital, "--epsilon", "10")
    where = ["--site", "/site", "--pool", "/site/pool.npz", "--out", "/report/run"]
    how = ["--mechanism", f"{NOISE.kind}:sigma={NOISE.sigma}", "--queries", str(QUERIES), "--quorum", "3"]
    run = behind_proxy.started("label", QUERY, "query", "label", *where, *how)
    assert exit_status(run, LABELLED_S) == 0
    state = state_of(run, "run")
    assert state is not None
    assert all(set(batch.parties) == set(HOSPITALS) for batch in state.batches)
    released = [batch.id for batch in state.batches if batch.status == "released"]
    assert released
    for hospital in HOSPITALS:
        assert sorted(charged_batches(behind_proxy, hospital, state.session_id)) == released
    require_intact(behind_proxy)
    # Squid tells of a connection once it ends.
    behind_proxy.compose("stop", *HOSPITALS)
    told = behind_proxy.logs("proxy")
    assert "TCP_TUNNEL/200" in told
    assert {line.split()[6] for line in told.splitlines() if "CONNECT" in line} == {"relay.example:443"}
