"""The images: each holds what its role imports and what its lock file says, and nothing to build with."""

import json
import os
import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ostraka.common.config import SiteConfig, write_site
from ostraka.deploy.images import build, locks
from ostraka.deploy.images.locks import ROLES, ROOT
from tests.common.federation import GUARDIAN, PARTY, Federation
from tests.compose import engine
from tests.compose.project import docker
from tests.relay.relaying import make_relay, make_site
from tests.waiting import until

pytestmark = pytest.mark.compose

IMPORT_ALL = """
import importlib, pkgutil, sys
sys.argv = ["ostraka"]
for top in {packages}:
    for module in pkgutil.walk_packages(importlib.import_module(top).__path__, top + "."):
        if not module.name.endswith(("__main__", "migrations.env")) and module.name not in {left_out}:
            importlib.import_module(module.name)
"""
SITES = ("ostraka.protos", "ostraka.deploy.site", "ostraka.deploy.provisioning")
CODE = {
    "guardian": (
        *SITES,
        "ostraka.common.identity",
        "ostraka.common.rpc",
        "ostraka.common.telemetry",
        "ostraka.guardian",
    ),
    "party": (*SITES, "ostraka.common", "ostraka.services"),
    "client": (*SITES, "ostraka.common", "ostraka.services", "ostraka.client", "ostraka.deploy.compose"),
}
"""What of ours each image is to import; code of the others is not there, or not used."""

LEFT_OUT = (
    "ostraka.services.teachers.on_ray",
    "ostraka.client.students.dp_sgd.private_training",
    "ostraka.guardian.noise.opendp_noise",
)
"""What needs packages that no image has."""

HELP = """
import importlib, typer
from typer.testing import CliRunner
def paths(command, path=()):
    yield path
    for name, inner in getattr(command, "commands", {{}}).items():
        yield from paths(inner, (*path, name))
for module in {modules}:
    app = importlib.import_module(module).app
    for path in paths(typer.main.get_command(app)):
        shown = CliRunner().invoke(app, [*path, "--help"])
        assert shown.exit_code == 0, (module, path, shown.exception)
        print(module, *path)
"""
COMMANDS = {
    "guardian": "ostraka.guardian.cli",
    "party": "ostraka.services.cli",
    "client": "ostraka.client.cli.query",
}

INSTALLED = """
import importlib.metadata, json
print(json.dumps({d.name: d.version for d in importlib.metadata.distributions()}))
"""


CONFINED = ("--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL")  # noqa: S108
"""How containers run, wherever they are."""
OWN_USER = 10001
OTHER_USER = 4242
PORT = 7443
PROXY = ROOT / "tests" / "compose" / "stand_ins" / "proxy.py"


@pytest.fixture(scope="module", autouse=True)
def images() -> None:
    engine.ensure()
    engine.build()


def run(role: str, *command: str, entrypoint: str = "python") -> subprocess.CompletedProcess[str]:
    """Run a command as containers of `role` run: no network, nothing to write to but /tmp."""
    options = ["--rm", "--network", "none", *CONFINED, "--entrypoint", entrypoint, build.tag(role)]
    return subprocess.run(["docker", "run", *options, *command], capture_output=True, text=True)


@pytest.mark.parametrize("role", ROLES)
def test_every_module_of_a_role_can_be_imported(role: str) -> None:
    code = IMPORT_ALL.format(packages=CODE[role], left_out=LEFT_OUT)
    imported = run(role, "-W", "error::ImportWarning", "-c", code)
    assert imported.returncode == 0, imported.stderr


@pytest.mark.parametrize("role", ROLES)
def test_every_command_of_a_role_is_there(role: str) -> None:
    modules = (COMMANDS[role], "ostraka.deploy.site.cli", "ostraka.deploy.provisioning.cli")
    shown = run(role, "-c", HELP.format(modules=modules))
    assert shown.returncode == 0, shown.stderr
    assert f"{COMMANDS[role]}\n" in shown.stdout


@pytest.mark.parametrize("role", ROLES)
def test_an_image_holds_exactly_its_lock_file(role: str) -> None:
    installed = {
        re.sub(r"[-_.]+", "-", name).lower(): version
        for name, version in json.loads(run(role, "-c", INSTALLED).stdout).items()
    }
    lock = "guardian.txt" if role == "guardian" else f"{role}-cpu.txt"
    text = (locks.FOLDER / lock).read_text(encoding="utf-8")
    assert installed.pop("ostraka")
    assert installed == dict(re.findall(r"^(\S+)==(\S+)", text, flags=re.M))


@pytest.mark.parametrize("role", ROLES)
def test_an_image_runs_as_nobody_in_particular_and_has_nothing_to_build_with(role: str) -> None:
    seen = run(
        role,
        "-c",
        "id -u; pwd; ls -d /wheelhouse /locks /source /etc/pip.conf /opt/pip /root/.cache 2> /dev/null;"
        "command -v gcc cc make; ls /opt/venv/bin | grep pip; find /opt /root -name '*.whl' 2> /dev/null;"
        "true",
        entrypoint="sh",
    )
    assert seen.stdout.split() == ["10001", "/site"], seen.stdout


def test_a_command_of_another_role_says_so() -> None:
    refused = run("guardian", "party", "serve", entrypoint="ostraka")
    said = " ".join(refused.stderr.replace("│", " ").split())
    assert refused.returncode == 2
    assert "needs ostraka.services" in said


def test_data_files_of_packages_are_installed() -> None:
    """Pages and styles are no modules, so that nothing fails before they are opened."""
    folders = [f"ostraka/{name}" for name in ("common", "guardian", "services", "client")]
    command = ["git", "ls-files", *folders]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    files = {file for file in tracked.stdout.split() if Path(file).suffix not in {".py", ".md"}}
    assert files
    listing = "import sysconfig; from pathlib import Path;"
    listing += "r = Path(sysconfig.get_path('purelib'));"
    listing += "print(*(p.relative_to(r) for p in (r / 'ostraka').rglob('*') if p.is_file()), sep='\\n')"
    there = {line for role in ROLES for line in run(role, "-c", listing).stdout.split()}
    assert files <= there, files - there


def mounted(folder: Path, user: int) -> list[str]:
    """Return the options by which a container has a site's folder, which belongs to `user` from now on."""
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)
    return ["--volume", f"{folder}:/site"]


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """Start a container for the time of the block, and yield its id."""
    container = docker("run", "--detach", *CONFINED, *arguments).strip()
    try:
        yield container
    finally:
        docker("rm", "--force", "--volumes", container)


@contextmanager
def network(*options: str) -> Iterator[str]:
    """Make a network for the time of the block, and yield its name."""
    name = f"ostraka-images-{uuid.uuid4().hex[:8]}"
    docker("network", "create", *options, name)
    try:
        yield name
    finally:
        docker("network", "rm", name)


def logged(container: str) -> str:
    """Return what a container printed."""
    shown = subprocess.run(["docker", "logs", container], capture_output=True, text=True, check=True)
    return shown.stdout + shown.stderr


def serves(container: str) -> bool:
    """Whether the server of a container answers its own health check."""
    asked = ["docker", "exec", container, "ostraka", "site", "health", "/site"]
    return subprocess.run(asked, capture_output=True, text=True).stdout.strip() == "serving"


def test_a_server_runs_as_another_user_on_a_read_only_root(tmp_path: Path) -> None:
    folder = Federation(tmp_path / "federation").issue(GUARDIAN).folder
    about = {"federation": GUARDIAN.federation, "site": GUARDIAN.site, "role": "guardian"}
    write_site(SiteConfig(**about, listen=f"127.0.0.1:{PORT}", folder=folder))
    user = ("--user", f"{OTHER_USER}:{OTHER_USER}", "--network", "none")
    serving = ("guardian", "serve", "--site", "/site")
    with started(*user, *mounted(folder, OTHER_USER), build.tag("guardian"), *serving) as server:
        until(lambda: serves(server))
        tried = "id -u; touch /opt/venv/altered 2> /dev/null || echo refused"
        assert docker("exec", server, "sh", "-c", tried).split() == [str(OTHER_USER), "refused"]
    assert (folder / "ledger.db").stat().st_uid == OTHER_USER


def test_a_party_without_a_way_out_reaches_its_relay_through_a_proxy(tmp_path: Path) -> None:
    federation, guardian = Federation(tmp_path / "federation"), build.tag("guardian")
    relay_site = mounted(make_relay(federation, f"0.0.0.0:{PORT}"), OWN_USER)
    party_site = mounted(make_site(federation, PARTY, f"relay:{PORT}").folder, OWN_USER)
    relay = ["--network-alias", "relay", *relay_site, guardian, "relay", "serve", "--site", "/site"]
    proxy = ["--volume", f"{PROXY}:/proxy.py:ro", "--entrypoint", "python", guardian, "/proxy.py", str(PORT)]

    def findings(*options: str) -> dict[str, str]:
        """Return the state of what a party's container checks of its relay."""
        checking = (build.tag("party"), "site", "check", "/site", "--json", "-")
        command = ["docker", "run", "--rm", *CONFINED, "--network", inside, *party_site, *options, *checking]
        checked = json.loads(subprocess.run(command, capture_output=True, text=True).stdout)
        return {one["check"]: one["state"] for one in checked if one["check"].startswith("relay")}

    with (
        network("--internal") as inside,
        network() as outside,
        started("--network", outside, *relay) as hub,
        started("--network", outside, *proxy) as way,
    ):
        docker("network", "connect", "--alias", "proxy", inside, way)
        until(lambda: "relay.serving" in logged(hub))
        name = f"relay relay:{PORT}"
        assert findings() == {name: "failed"}
        assert logged(way) == ""
        reached = findings("--env", f"HTTPS_PROXY=http://proxy:{PORT}")
        steps = (f"{name}: network", f"{name}: TLS", name)
        assert {step: reached.get(step) for step in steps} == dict.fromkeys(steps, "ok")
        assert set(logged(way).split()) == {f"relay:{PORT}"}
