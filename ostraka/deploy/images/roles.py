"""Dependencies of each role's image: the base of `pyproject.toml`, and the extras of the role."""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
ROLES = ("guardian", "party", "client")
DEVICES = ("cpu", "cuda")

EXTRAS = {
    "guardian": ("guardian", "postgres", "console", "otel"),
    "party": ("party", "otel"),
    "client": ("query", "otel"),
}
"""Extras of `pyproject.toml` that each role's image has."""


def requirements(role: str) -> list[str]:
    """Return what the image of `role` needs by `pyproject.toml`; torch is the one that tests run with."""
    project = _pyproject()["project"]
    extras = project["optional-dependencies"]
    tested = {name(line): line for line in extras["dev"] if "==" in line}
    wanted = {*project["dependencies"], *_lines(extras, EXTRAS[role])}
    return sorted(tested.get(name(line), line) for line in wanted)


def _lines(extras: Mapping[str, Sequence[str]], chosen: Iterable[str]) -> Iterator[str]:
    """Yield the requirements of extras, and of the extras that they name."""
    for line in (line for extra in chosen for line in extras[extra]):
        if named := re.fullmatch(r"ostraka\[(.+)\]", line):
            yield from _lines(extras, named[1].split(","))
        else:
            yield line


def build_requirements() -> list[str]:
    """Return what building Ostraka's own wheel needs."""
    return list(_pyproject()["build-system"]["requires"])


def name(requirement: str) -> str:
    """Return the distribution of a requirement such as `psycopg[binary]>=3.2`, in its normal spelling."""
    matched = re.match(r"[A-Za-z0-9._-]+", requirement)
    if matched is None:
        raise ValueError(f"'{requirement}' names no distribution.")
    return re.sub(r"[-_.]+", "-", matched[0]).lower()


def version() -> str:
    """Ostraka's version, which images are tagged with."""
    return str(_pyproject()["project"]["version"])


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
