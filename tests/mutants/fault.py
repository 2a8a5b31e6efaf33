"""Faults from the lists in `faults/`: a piece of a file, and its replacement."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LISTS = Path(__file__).with_name("faults")


class FaultError(Exception):
    """A fault that can no longer be planted as its list says."""


@dataclass(frozen=True)
class Fault:
    """One change that breaks a rule.

    Attributes:
        name: unique.
        file: the source file that it changes, relative to the root of the repository.
        code: a piece of it that occurs there once; `instead` replaces it.
        killer: the test, file or folder of tests that must fail.
        rule: what is broken, in a sentence.
    """

    name: str
    file: str
    code: str
    instead: str
    killer: str
    rule: str

    @property
    def module(self) -> str:
        """The module that the file is imported as."""
        return ".".join(Path(self.file).with_suffix("").parts).removesuffix(".__init__")

    def planted(self, root: Path = ROOT) -> str:
        """Return the file's text with the fault in it.

        Raises:
            FaultError: the code is missing or occurs more than once, or the result does not compile.
        """
        path = root / self.file
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text.count(self.code) != 1:
            raise FaultError(f"{self.name}: {self.file} has this {text.count(self.code)} times: {self.code}")
        changed = text.replace(self.code, self.instead)
        try:
            compile(changed, self.file, "exec")
        except SyntaxError as exc:
            raise FaultError(f"{self.name}: {self.file} does not compile with it: {exc}") from exc
        return changed


def load(folder: Path = LISTS) -> list[Fault]:
    """Return every fault of the lists in a folder, in order; FaultError for a duplicate name."""
    lists = sorted(folder.glob("*.toml"))
    faults = [Fault(name=name, **fields) for path in lists for name, fields in _of(path)]
    names = [fault.name for fault in faults]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise FaultError(f"named twice: {', '.join(sorted(twice))}")
    return faults


def _of(path: Path) -> Iterable[tuple[str, dict[str, str]]]:
    return tomllib.loads(path.read_text(encoding="utf-8")).items()
