"""What containers can reach, may do, and are told."""

import json

import pytest

from ostraka.deploy.compose.setup import GUARDIAN_PORT, HOSPITALS, METRICS_PORT
from tests.compose.project import NAME, Project, docker, inspect

pytestmark = [pytest.mark.compose, pytest.mark.timeout(900)]

ONE_LOOKUP = "timeout:1 attempts:1"
"""The resolver's patience with names that nobody knows."""
CONNECT = """
import json, socket, sys
from concurrent.futures import ThreadPoolExecutor
def reaches(place):
    host, port = place
    try:
        socket.create_connection((host, port), timeout=15).close()
    except OSError:
        return False
    return True
places = json.loads(sys.argv[1])
with ThreadPoolExecutor(len(places)) as pool:
    print(json.dumps(list(pool.map(reaches, places))))
"""


def reached(project: Project, service: str, places: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """Those of the places that a service's container can connect to."""
    in_container = ["exec", "--env", f"RES_OPTIONS={ONE_LOOKUP}", project.container(service)]
    said = docker(*in_container, "python", "-c", CONNECT, json.dumps(places))
    return [place for place, reaches in zip(places, json.loads(said), strict=True) if reaches]


def places(project: Project) -> dict[str, list[tuple[str, int]]]:
    """Where each server is reached: by its name, and by its address in every network that it is in."""
    ports = {"postgres": 5432, "guardian": GUARDIAN_PORT}
    ports |= {hospital: GUARDIAN_PORT + row for row, hospital in enumerate(HOSPITALS, start=1)}
    return {service: places_of(project, service, port) for service, port in ports.items()}


def places_of(project: Project, service: str, port: int) -> list[tuple[str, int]]:
    """Where one server is reached."""
    networks = json.loads(inspect(project.container(service), "json .NetworkSettings.Networks"))
    return [(service, port), *((one["IPAddress"], port) for one in networks.values())]


@pytest.mark.parametrize("asking", HOSPITALS)
def test_no_hospital_reads_the_metrics_of_others(project: Project, asking: str) -> None:
    others = [service for service in ("guardian", *HOSPITALS) if service != asking]
    metrics = {(place[0], METRICS_PORT) for other in others for place in places(project)[other]}
    assert len(metrics) > 2 * len(others)
    assert reached(project, asking, sorted(metrics)) == []
    assert reached(project, asking, [(f"metrics.{asking}", METRICS_PORT)])


@pytest.mark.parametrize("hospital", HOSPITALS)
def test_a_hospital_reaches_the_guardian_and_neither_others_nor_the_database(
    project: Project, hospital: str
) -> None:
    known = places(project)
    others = [other for other in HOSPITALS if other != hospital]
    forbidden = [place for other in (*others, "postgres") for place in known[other]]
    assert reached(project, hospital, [("guardian", GUARDIAN_PORT)])
    assert reached(project, hospital, forbidden) == []


def test_the_database_is_reached_by_the_guardian_alone(project: Project) -> None:
    database = places(project)["postgres"]
    assert reached(project, "guardian", database) == database


def test_every_network_but_that_of_monitoring_leads_nowhere_outside(project: Project) -> None:
    label = f"label=com.docker.compose.project={NAME}"
    networks = json.loads(
        docker("network", "inspect", *docker("network", "ls", "--quiet", "--filter", label).split())
    )
    outside = {network["Name"] for network in networks if not network["Internal"]}
    assert len(networks) >= 5
    assert outside <= {f"{NAME}_monitoring"}
    assert not reached(project, "guardian", [("1.1.1.1", 443)])


def test_containers_may_do_as_little_as_they_need(project: Project) -> None:
    containers = project.containers()
    root = {
        service for service, one in containers.items() if one["Config"]["User"] in ("", "0", "0:0", "root")
    }
    assert root == {"setup"}
    for one in containers.values():
        host = one["HostConfig"]
        assert host["ReadonlyRootfs"]
        assert host["CapDrop"] == ["ALL"]
        assert host["SecurityOpt"] == ["no-new-privileges:true"]
        assert host["Memory"] > 0
        assert host["PidsLimit"] > 0
        assert not one["NetworkSettings"]["Ports"] or not any(one["NetworkSettings"]["Ports"].values())
    assert containers["setup"]["HostConfig"]["NetworkMode"] == "none"


def test_no_secret_is_in_settings_or_logs(project: Project) -> None:
    guardian = project.container("guardian")
    url = docker("exec", guardian, "cat", "/site/database.url")
    password = url.rpartition("@")[0].rpartition(":")[2]
    key = docker("exec", guardian, "cat", "/site/tls.key").splitlines()[1]
    assert min(len(password), len(key)) > 30
    told = json.dumps(project.containers()) + "".join(map(project.logs, project.containers()))
    assert password not in told
    assert key not in told


@pytest.mark.parametrize("service", ["guardian", *HOSPITALS])
def test_keys_are_their_owners_alone(project: Project, service: str) -> None:
    command = ["stat", "--format", "%u %a", "/site", "/site/tls.key", "/site/signing.key"]
    assert docker("exec", project.container(service), *command).split("\n")[:3] == [
        "10001 700",
        "10001 600",
        "10001 600",
    ]
