"""Clones of small repositories."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Return a function that runs git in a repository with one commit, and returns what git prints."""
    root = tmp_path / "repository"

    def run(*arguments: str) -> str:
        said = ("-c", "user.name=tests", "-c", "user.email=", "-c", "init.defaultBranch=main")
        ran = subprocess.run(["git", *said, *arguments], cwd=root, check=True, capture_output=True, text=True)
        return ran.stdout.strip()

    root.mkdir()
    (root / "program.py").write_text("print('one')\n", encoding="utf-8")
    run("init", "--quiet")
    run("add", "--all")
    run("commit", "--quiet", "--message", "Begin", "--date", "2026-01-02T03:04:05Z")
    return run
