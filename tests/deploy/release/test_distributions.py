"""Whoever builds a commit, and wherever, gets the same bytes."""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from ostraka import __version__
from ostraka.deploy.images.locks import ROOT
from ostraka.deploy.release import distributions
from ostraka.deploy.release.commit import read_commit

pytestmark = pytest.mark.heavy
LATER = 2**31
"""Seconds since 1970: when files of a clone say that they were changed."""


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path]]:
    """Build what is committed twice: in two folders, by people who differ in their habits."""
    first = built(tmp_path_factory.mktemp("first"))
    before = os.umask(0o077)
    try:
        yield first, built(tmp_path_factory.mktemp("second") / "deeper", LATER)
    finally:
        os.umask(before)


def built(folder: Path, changed: int | None = None) -> Path:
    """Return a folder with the distributions of a clone, whose files were `changed` then."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    if changed is not None:
        for file in clone.rglob("*.py"):
            os.utime(file, (changed, changed), follow_symlinks=False)
    distributions.build(read_commit(clone, __version__), folder / "dist")
    return folder / "dist"


def test_source_archive_and_wheel_have_the_same_bytes(builds: tuple[Path, Path]) -> None:
    one, other = ({file.name: file.read_bytes() for file in folder.iterdir()} for folder in builds)
    assert one.keys() == {f"ostraka-{__version__}.tar.gz", f"ostraka-{__version__}-py3-none-any.whl"}
    assert one == other


def test_the_source_archive_has_what_the_wheel_is_built_from_and_nobody_in_it(
    builds: tuple[Path, Path],
) -> None:
    folder, _ = builds
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        members = opened.getmembers()
    names = {member.name.partition("/")[2] for member in members}
    assert {"LICENSE", "README.md", "pyproject.toml", "ostraka/deploy/cli.py"} <= names
    assert not any(name.startswith("tests") for name in names)
    assert {(member.uid, member.gid, member.uname, member.gname) for member in members} == {(0, 0, "", "")}
    assert len({member.mtime for member in members}) == 1
    (wheel,) = folder.glob("*.whl")
    with ZipFile(wheel) as opened_wheel:
        packed = {name for name in opened_wheel.namelist() if ".dist-info/" not in name}
    assert packed <= names
