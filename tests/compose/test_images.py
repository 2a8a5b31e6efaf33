"""The images: each holds what its role imports and what its lock file says, and nothing to build with."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from ostraka.deploy.images import build, locks
from ostraka.deploy.images.locks import ROLES, ROOT
from tests.compose import engine

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


@pytest.fixture(scope="module", autouse=True)
def images() -> None:
    engine.ensure()
    engine.build()


def run(role: str, *command: str, entrypoint: str = "python") -> subprocess.CompletedProcess[str]:
    """Run a command as containers of `role` run: no network, nothing to write to but /tmp."""
    confined = ["--rm", "--network", "none", "--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL"]  # noqa: S108
    options = [*confined, "--entrypoint", entrypoint, build.tag(role)]
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
