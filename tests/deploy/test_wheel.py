"""The wheel owns one name, `ostraka`, and works beside files and distributions of any other names."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from ostraka.deploy.images.locks import ROOT
from tests.deploy.conftest import FOLDERS

pytestmark = pytest.mark.heavy
GROUPS = ("guardian", "party", "lead", "query", "site", "provision")
FOREIGN = "raise SystemExit('foreign code ran')\n"
RUN = """
import sys
from ostraka.deploy.cli import __file__, main
if not __file__.startswith({packages!r}):
    sys.exit(f"not the wheel's: {{__file__}}")
main()
"""


@pytest.fixture(scope="module")
def packages(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what is installed: the wheel, and another distribution that has our folders' names."""
    folder = tmp_path_factory.mktemp("packages")
    with ZipFile(wheel) as archive:
        archive.extractall(folder)
    occupy(folder)
    return folder


def occupy(folder: Path) -> None:
    """Put packages into a folder that have our folders' names."""
    for name in FOLDERS:
        (folder / name).mkdir()
        (folder / name / "__init__.py").write_text(FOREIGN)


def started(packages: Path, home: Path, *arguments: str) -> subprocess.Popen[str]:
    """`ostraka` as it is installed in `packages`, started in `home`."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", RUN.format(packages=str(packages)), *arguments],
        cwd=home,
        env=os.environ | {"PYTHONPATH": str(packages)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def test_ostraka_is_its_only_name(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        files = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in files} == {"ostraka"}
    for name in ("py.typed", "protos/ostraka/v1/limits.proto", "deploy/cli.py"):
        assert f"ostraka/{name}" in files


def test_it_holds_every_template_of_a_page(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = set(archive.namelist())
    templates = [file for kind in ("html", "css") for file in (ROOT / "ostraka").rglob(f"*.{kind}")]
    assert templates
    assert {str(file.relative_to(ROOT)) for file in templates} <= held


def test_every_command_runs_where_packages_have_our_folders_names(packages: Path, tmp_path: Path) -> None:
    occupy(tmp_path)
    running = {group: started(packages, tmp_path, group, "--help") for group in GROUPS}
    said = {group: process.communicate()[0] for group, process in running.items()}
    assert {group: process.returncode for group, process in running.items()} == dict.fromkeys(GROUPS, 0), said


def test_a_simulation_runs_where_files_have_our_folders_names(packages: Path, tmp_path: Path) -> None:
    for name in FOLDERS:
        (tmp_path / f"{name}.py").write_text(FOREIGN)
    options = ["--parties", "2", "--teachers", "2", "--model", "logistic_regression", "--queries", "10"]
    process = started(packages, tmp_path, "simulate", *options, "--out", "run")
    said = process.communicate()[0]
    assert process.returncode == 0, said
    assert (tmp_path / "run" / "report.html").is_file()
