"""Ostraka's wheels and their installations, each made once."""

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

import pytest

from ostraka.deploy.images.locks import ROOT
from tests.deploy.installation import Installation, install, install_beside
from tests.skips import skip_or_fail

FOLDERS = ("client", "common", "deploy", "guardian", "protos", "services")
SOURCES = ("ostraka", "pyproject.toml", "README.md", "LICENSE")
ROLES = {"admin": (), "guardian": ("guardian",), "party": ("party",), "query": ("query",)}
"""Extras that each role installs; an administrator needs none."""
MAX_MB = {"admin": 120, "guardian": 350, "party": 1450, "query": 1550}
"""In 10^6 bytes: promised limits for administrators and guardians; current sizes where torch is included."""
RELEASED = "v0.1.0"
"""Tag of the version that must work together with the current one."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of the working tree, in a place where nothing of the tree is changed."""
    source = tmp_path_factory.mktemp("source")
    for name in SOURCES:
        (source / name).symlink_to(ROOT / name)
    return build(source, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def released_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of the released version's tag, or of the last commit while there is no such tag."""
    source = tmp_path_factory.mktemp("released-source")
    tagged = git("rev-parse", "--quiet", "--verify", f"{RELEASED}^{{commit}}").returncode == 0
    packed = source / "source.tar"
    taken = git("archive", "--output", str(packed), RELEASED if tagged else "HEAD", *SOURCES)
    if taken.returncode:
        skip_or_fail(f"there is no commit to build from: {taken.stderr.strip()}")
    with tarfile.open(packed) as archive:
        archive.extractall(source, filter="data")
    return build(source, tmp_path_factory.mktemp("released-wheel"))


def git(*words: str) -> subprocess.CompletedProcess[str]:
    """Run git in the repository to completion."""
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)


def build(source: Path, out: Path) -> Path:
    """Build the wheel of a source folder."""
    options = ["--quiet", "--no-deps", "--wheel-dir", str(out)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        skip_or_fail(f"the wheel cannot be built: {built.stderr.strip().splitlines()[-1]}")
    (made,) = out.glob("*.whl")
    return made


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Installation]:
    """Install each role's extras, and return the installations."""
    folder = tmp_path_factory.mktemp("roles")
    made = {role: install(wheel, extras, folder / role) for role, extras in ROLES.items()}
    for role, installation in made.items():
        print(
            f"\n{role}: {installation.megabytes:.0f} MB of {MAX_MB[role]} in {installation.seconds:.1f} s",
            end="",
        )
    return made


@pytest.fixture(scope="session")
def released(
    released_wheel: Path,
    wheel: Path,
    installed: dict[str, Installation],
    tmp_path_factory: pytest.TempPathFactory,
) -> Installation:
    """Install the released version for every role."""
    folder = tmp_path_factory.mktemp("released") / "all"
    roles = [installed["query"], installed["guardian"]]
    if requirements(released_wheel) == requirements(wheel):
        return install_beside(released_wheel, roles, folder)
    return install(released_wheel, ("guardian", "party", "query"), folder)


def requirements(wheel: Path) -> list[str]:
    """Return what a wheel requires, with its extras."""
    with ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        lines = archive.read(name).decode().splitlines()
    return [line for line in lines if line.startswith("Requires-Dist:")]
