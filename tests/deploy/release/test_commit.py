"""A release is of a commit alone, and of the version that its tag says."""

from pathlib import Path

import pytest

from ostraka.deploy.release import __main__ as command
from ostraka.deploy.release.commit import read_commit
from tests.deploy.release.conftest import Git


@pytest.fixture
def root(git: Git, tmp_path: Path) -> Path:
    return tmp_path / "repository"


def test_a_commit_with_the_tag_of_its_version_is_a_release(git: Git, root: Path) -> None:
    git("tag", "v1.2.3")
    git("tag", "v1.2.3-as-seen-by-others")
    commit = read_commit(root, "1.2.3")
    assert commit.tagged
    assert commit.digest == git("rev-parse", "HEAD")
    assert commit.seconds == int(git("log", "-1", "--format=%ct"))


def test_a_commit_without_a_tag_of_a_version_is_a_rehearsal(git: Git, root: Path) -> None:
    git("tag", "verified")
    assert not read_commit(root, "1.2.3").tagged


@pytest.mark.parametrize("tag", ["v1.2.4", "v1.2", "v1.2.3rc1"])
def test_a_tag_of_another_version_is_refused(git: Git, root: Path, tag: str) -> None:
    git("tag", tag)
    with pytest.raises(
        RuntimeError, match=f"The commit's tag is {tag} and its version 1.2.3: tag the commit"
    ):
        read_commit(root, "1.2.3")


@pytest.mark.parametrize("file", ["program.py", "forgotten.py"])
def test_what_is_not_committed_is_refused(root: Path, file: str) -> None:
    (root / file).write_text("print('two')\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="Commit or remove what `git status` lists"):
        read_commit(root, "1.2.3")


def test_the_command_ends_with_one_sentence(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / "program.py").unlink()
    monkeypatch.setattr(command, "ROOT", root)
    assert command.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: Commit or remove")


def test_files_are_those_of_the_commit_whatever_modes_they_have_here(
    git: Git, root: Path, tmp_path: Path
) -> None:
    git("config", "tar.umask", "0077")
    commit = read_commit(root, "1.2.3")
    (root / "program.py").write_text("print('two')\n", encoding="utf-8")
    commit.export(tmp_path / "exported")
    (file,) = (tmp_path / "exported").iterdir()
    assert file.read_text(encoding="utf-8") == "print('one')\n"
    assert file.stat().st_mode & 0o777 == 0o644
