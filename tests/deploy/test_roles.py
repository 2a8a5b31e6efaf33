"""Every role works with what its own extra brings, and says what to install for what it does not."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.conftest import MAX_MB, ROLES
from tests.deploy.installation import ByGroup, Installation
from tests.e2e import test_readme, walkthrough

pytestmark = pytest.mark.roles
LEARNING = {"pyarrow", "safetensors", "scikit-learn", "skops", "tenseal", "torch"}
ABSENT = {
    "admin": {*LEARNING, "dp-accounting", "matplotlib", "opendp", "scipy", "sqlalchemy"},
    "guardian": {*LEARNING, "matplotlib", "opendp", "starlette"},
    "party": {"alembic", "matplotlib", "opendp", "sqlalchemy"},
    "query": {"alembic", "opendp", "sqlalchemy"},
}
PLAN = "guardian plan --mechanism gnmax:sigma=40 --classes 3 --parties 3 --epsilon 10"
TASK = f"task check {walkthrough.ROOT / 'examples' / 'hospital.toml'} records.csv"
REFUSED = (
    ("admin", "guardian serve --site fed", "guardian"),
    ("admin", "guardian audit verify --ledger fed/ledger.db", "guardian"),
    ("admin", "guardian console --site fed", "console"),
    ("admin", PLAN, "accounting"),
    ("admin", "mechanisms", "accounting"),
    ("admin", TASK, "party"),
    ("admin", "simulate", "simulate"),
    ("guardian", f"{PLAN} --plot plan.png", "plot"),
    ("guardian", TASK, "query"),
    ("party", "guardian serve --site fed", "guardian"),
    ("query", "guardian serve --site fed", "guardian"),
    ("query", "simulate", "simulate"),
)
"""Commands that an installation lacks packages for, and the extra that they are to name."""

PROGRAM = """
from pathlib import Path
from ostraka import Querier, Settings, simulate
from ostraka.mechanisms import GnMax

mechanism: GnMax = GnMax(sigma=40.0)
sigma: float = mechanism.sigma


def label(site: Path) -> list[str]:
    return list(Querier(site).task.classes)


def epsilons(settings: Settings) -> str:
    return type(simulate(settings)).__name__
"""
"""What a user writes."""
MISTAKE = "from ostraka.mechanisms import GnMax\n\nsigma: str = GnMax(sigma=40.0).sigma\n"

HELP = """
import sys
import typer
from typer.testing import CliRunner
from ostraka.common.console.commands import import_command
from ostraka.deploy.cli import app
def show(command, path):
    shown = CliRunner().invoke(app, [*path, "--help"])
    assert shown.exit_code == 0, (path, shown.output, shown.exception)
    inner = getattr(import_command(command, typer.Context(command)), "commands", {})
    return 1 + sum(show(inner[name], (*path, name)) for name in inner if name not in sys.argv[1:])
print(show(typer.main.get_command(app), ()))
"""
WITHOUT_HELP = {"admin": ["simulate"]}
"""Commands whose options are of types that a role does not have: REFUSED has them, too."""


@pytest.mark.parametrize("role", ROLES)
def test_a_role_installs_nothing_that_others_alone_need(
    installed: dict[str, Installation], role: str
) -> None:
    assert not ABSENT[role] & installed[role].distributions
    assert installed[role].megabytes < MAX_MB[role]


@pytest.mark.parametrize("role", ROLES)
def test_help_of_every_command_is_there(installed: dict[str, Installation], role: str) -> None:
    shown = subprocess.run(
        [installed[role].python, "-I", "-c", HELP, *WITHOUT_HELP.get(role, ())],
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stderr
    assert int(shown.stdout) > 50


@pytest.mark.parametrize(("role", "command", "extra"), REFUSED)
def test_what_needs_more_packages_names_the_extra(
    installed: dict[str, Installation],
    role: str,
    command: str,
    extra: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "records.csv").write_text("age,diagnosis\n40,1\n")
    monkeypatch.chdir(tmp_path)
    refused = installed[role].run(*command.split())
    assert refused.returncode == 2, refused.stdout + refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert refused.stderr.startswith("error [config.invalid]:")
    assert f"pip install 'ostraka[{extra}]'" in refused.stderr


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_programs_are_checked_against_the_types_of_the_wheel(
    installed: dict[str, Installation], tmp_path: Path, checker: str
) -> None:
    """Types reach whoever installs the wheel: what fits passes, and what does not is found."""
    python = installed["query"].python
    commands = {
        "mypy": ["mypy", "--strict", "--no-incremental", "--python-executable", python],
        "pyright": ["pyright", "--pythonpath", python],
    }
    # Else pyright takes that of a folder above.
    (tmp_path / "pyrightconfig.json").write_text("{}")
    for text, status in ((PROGRAM, 0), (MISTAKE, 1)):
        (tmp_path / "program.py").write_text(text)
        program = str(Path(sys.executable).with_name(commands[checker][0]))
        command = [program, *commands[checker][1:], "program.py"]
        checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert checked.returncode == status, checked.stdout + checked.stderr


def test_a_site_check_names_the_packages_that_the_site_lacks(
    installed: dict[str, Installation], tmp_path: Path
) -> None:
    options = [
        "--federation",
        "sepsis",
        "--parties",
        "north,south",
        "--query",
        "west",
        "--out",
        str(tmp_path),
    ]
    assert installed["admin"].run("provision", "local", *options).returncode == 0
    checked = installed["admin"].run("site", "check", str(tmp_path / "guardian"), "--json", "-")
    assert checked.returncode == 2
    lacking = [found["sentence"] for found in json.loads(checked.stdout) if found["check"] == "packages"]
    assert lacking
    assert all("pip install 'ostraka[guardian]'" in sentence for sentence in lacking)


def test_a_federation_of_roles_labels_and_learns(
    installed: dict[str, Installation], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of the README runs where its role is installed; an administrator gives those of none."""
    givers = {"guardian serve": "guardian", "party": "party", "task": "party", "query": "query", "": "admin"}
    start = ByGroup({words: installed[role] for words, role in givers.items()})
    walkthrough.run(test_readme.commands(), tmp_path, start, monkeypatch)
    labels = (tmp_path / "fed/west/run/labels.csv").read_text()
    assert labels.count(",answered") > 0
