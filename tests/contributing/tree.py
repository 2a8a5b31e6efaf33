"""A copy of the tree in which one row of CONTRIBUTING.md is carried out, and the row itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPIED = ("ostraka", "tests", "docs", "examples")
PATH = re.compile(r"`((?:ostraka|tests|docs|examples)/[\w./-]*)`")
"""A file that a row names, or a folder if it ends in a slash."""


def rows() -> Mapping[str, str]:
    """Return the table "How to add something" of CONTRIBUTING.md: what is added, and where."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## How to add something")[2].partition("\n## ")[0]
    found = re.findall(r"^\| (.+?) \| (.+) \|$", section, re.MULTILINE)
    return {what: files for what, files in found if what not in ("what", "---")}


@dataclass(frozen=True)
class Tree:
    """A copy of the tree. Only files that its row names can be changed.

    Attributes:
        root: its folder.
        row: what is added, in the row's words.
    """

    root: Path
    row: str

    @classmethod
    def copy(cls, root: Path, row: str) -> Tree:
        """Copy what the row may change or its checks need, with compiled modules, which stay valid."""
        for folder in COPIED:
            shutil.copytree(ROOT / folder, root / folder, symlinks=True)
        shutil.copy2(ROOT / "pyproject.toml", root)
        return cls(root, row)

    def write(self, file: str, text: str) -> None:
        """Add a file to a folder that the row names."""
        self._require_named(file)
        assert not (self.root / file).exists()
        (self.root / file).write_text(text, encoding="utf-8")

    def append(self, file: str, text: str) -> None:
        """Add text to the end of a file that the row names."""
        self._require_named(file)
        with (self.root / file).open("a", encoding="utf-8") as opened:
            opened.write(text)

    def insert(self, file: str, before: str, text: str, *, implied: bool = False) -> None:
        """Insert text before a unique passage of a file that the row names, or implies."""
        self.replace(file, before, text + before, implied=implied)

    def replace(self, file: str, old: str, new: str, *, implied: bool = False) -> None:
        """Replace a unique passage of a file that the row names, or implies."""
        if not implied:
            self._require_named(file)
        path = self.root / file
        content = path.read_text(encoding="utf-8")
        assert content.count(old) == 1, (file, old, content.count(old))
        path.write_text(content.replace(old, new), encoding="utf-8")

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy; its imports find nothing of the original."""
        # The finder of an editable installation comes after the folders of PYTHONPATH.
        environment = os.environ | {"PYTHONPATH": str(self.root), "COLUMNS": "200"}
        # Options of the surrounding test run must not apply to the copy.
        environment.pop("PYTEST_ADDOPTS", None)
        return subprocess.run(
            [sys.executable, *words], cwd=self.root, env=environment, capture_output=True, text=True
        )

    def python(self, *words: str) -> str:
        """Run Python on the copy, which must succeed, and return what it printed."""
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def command(self, *words: str) -> str:
        """Run a command of Ostraka, which must succeed, and return what it printed."""
        return self.python("-m", "ostraka.deploy.cli", *words)

    def refusal(self, *words: str) -> str:
        """Run a command of Ostraka that must be refused, and return its message."""
        done = self.run("-m", "ostraka.deploy.cli", *words)
        assert done.returncode == 2, done.stdout + done.stderr
        return done.stderr

    def check(self, *tests: str) -> None:
        """Run tests of the project on the copy."""
        self.python("-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *tests)

    def _require_named(self, file: str) -> None:
        named = PATH.findall(rows()[self.row])
        folder = file.rpartition("/")[0] + "/"
        assert {file, folder} & set(named), f"the row of {self.row} does not name {file}"
