"""Findings as a table for people."""

from collections.abc import Iterable

from rich.table import Table

from deploy.site.checks.finding import Finding

STYLES = {"ok": "green", "warning": "yellow", "failed": "bold red"}


def findings_table(findings: Iterable[Finding]) -> Table:
    """One row a finding."""
    table = Table("check", "")
    table.add_column("what was found, and how to put it right", overflow="fold")
    for finding in findings:
        table.add_row(finding.check, f"[{STYLES[finding.state]}]{finding.state}", finding.sentence)
    return table
