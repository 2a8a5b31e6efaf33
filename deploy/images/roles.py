"""Dependencies of each role's image."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ROLES = ("guardian", "party", "client")
DEVICES = ("cpu", "cuda")

EXTRAS = {"guardian": ("postgres", "console", "otel"), "party": ("otel",), "client": ("otel",)}
LEFT_OUT = {
    "guardian": {"pyarrow", "safetensors", "scikit-learn", "skops", "tenseal", "torch"},
    "party": {"alembic", "matplotlib", "opendp", "sqlalchemy"},
    "client": {"alembic", "opendp", "sqlalchemy"},
}


def requirements(role: str) -> list[str]:
    """Return what the image of `role` needs by `pyproject.toml`: its dependencies without those left out.

    Raises:
        ValueError: a left-out name that is no dependency, so that the table above is kept.
    """
    project = _pyproject()["project"]
    stated = {name(line): line for line in project["dependencies"]}
    if unknown := LEFT_OUT[role] - stated.keys():
        raise ValueError(f"The image of {role} leaves out {sorted(unknown)}, on which nothing depends.")
    kept = [line for distribution, line in stated.items() if distribution not in LEFT_OUT[role]]
    extras = project["optional-dependencies"]
    return sorted(kept + [line for extra in EXTRAS[role] for line in extras[extra]])


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
