"""Findings as a table for people."""

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from ostraka.deploy.site.checks.finding import Finding

STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def findings_table(findings: Iterable[Finding]) -> Table:
    """One row a finding."""
    table = Table("check", "")
    table.add_column("what was found, and how to put it right", overflow="fold")
    for finding in findings:
        state = Text(finding.state, style=STYLES[finding.state])
        table.add_row(Text(finding.check), state, Text(finding.sentence))
    return table
