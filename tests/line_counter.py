"""A pytest plugin that counts executed lines and branches of product code, in every process of xdist.

`-p tests.line_counter` loads it, before anything that it counts is imported. It changes code when it is
imported, and removes a line's counter once the line has run, so that tests are hardly slower.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import slipcover

PACKAGES = [f"ostraka/{name}" for name in ("common", "guardian", "services", "client", "deploy")]
"""All packages except `protos`, which protoc writes."""
_counter = slipcover.Slipcover(branch=True, immediate=True)
_of_workers: list[Any] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Count from the first import on."""
    slipcover.ImportManager(_counter, slipcover.FileMatcher(PACKAGES)).__enter__()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send a worker's counts to the process that started it."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["lines"] = json.dumps(_counter.get_coverage())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take a worker's counts; a crashed worker, which fails the run, has none."""
    if lines := getattr(node, "workeroutput", {}).get("lines"):
        _of_workers.append(json.loads(lines))


def counted() -> dict[str, dict[str, int]]:
    """Return how many statements and branches exist, and how many ran, by file, including unimported
    files."""
    found = slipcover.Slipcover(branch=True, source=PACKAGES).get_coverage()
    for part in (_counter.get_coverage(), *_of_workers):
        slipcover.merge_coverage(found, part)
    return {file: _totals(Path(file), lines) for file, lines in found["files"].items()}


def _totals(file: Path, found: dict[str, Any]) -> dict[str, int]:
    """Count a statement once, however many lines it has."""
    begins = {node.lineno for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.stmt)}
    ran, missing = (len(begins.intersection(found[f"{which}_lines"])) for which in ("executed", "missing"))
    branches_run = len(found["executed_branches"])
    return {
        "lines": ran + missing,
        "lines_run": ran,
        "branches": branches_run + len(found["missing_branches"]),
        "branches_run": branches_run,
    }
