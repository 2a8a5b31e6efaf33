"""Findings of a check, its input, and a table of findings for people."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rich.table import Table
from rich.text import Text

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials

State = Literal["ok", "warning", "failed"]


@dataclass(frozen=True)
class Finding:
    """What one check found.

    Attributes:
        check: the subject of the check.
        state: "ok", "warning" if it works for now, "failed" if it does not.
        sentence: what was found, and how to fix it.
    """

    check: str
    state: State
    sentence: str


@dataclass(frozen=True)
class Place:
    """The site that is checked.

    Attributes:
        folder: its folder.
        site: its site.toml.
        credentials: its keys and certificates; None if they cannot be used.
        clock: the source of the current time.
    """

    folder: Path
    site: SiteConfig
    credentials: Credentials | None
    clock: Clock


def ok(check: str, sentence: str) -> Finding:
    """Return the finding that all is well."""
    return Finding(check, "ok", sentence)


def warning(check: str, sentence: str) -> Finding:
    """Return the finding that it works for now."""
    return Finding(check, "warning", sentence)


def failure(check: str, sentence: str) -> Finding:
    """Return the finding that it does not work."""
    return Finding(check, "failed", sentence)


STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def findings_table(findings: Iterable[Finding]) -> Table:
    """Return a table with one row per finding."""
    table = Table("check", "")
    table.add_column("what was found, and how to put it right", overflow="fold")
    for finding in findings:
        state = Text(finding.state, style=STYLES[finding.state])
        table.add_row(Text(finding.check), state, Text(finding.sentence))
    return table
