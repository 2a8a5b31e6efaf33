"""Lock files of the images: all dependencies of each role, at one version, with hashes of their files."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ostraka.deploy.install import TORCH_CPU_INDEX

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
    """Return what the image of `role` needs by `pyproject.toml`; torch has the version of the tests."""
    project = _pyproject()["project"]
    extras = project["optional-dependencies"]
    tested = {name(line): line for line in extras["dev"] if "==" in line}
    wanted = {*project["dependencies"], *_lines(extras, EXTRAS[role])}
    return sorted(tested.get(name(line), line) for line in wanted)


def _lines(extras: Mapping[str, Sequence[str]], chosen: Iterable[str]) -> Iterator[str]:
    """Yield the requirements of extras, and of the extras that they include."""
    for line in (line for extra in chosen for line in extras[extra]):
        if named := re.fullmatch(r"ostraka\[(.+)\]", line):
            yield from _lines(extras, named[1].split(","))
        else:
            yield line


def build_requirements() -> list[str]:
    """Return what the build of Ostraka's own wheel needs."""
    return list(_pyproject()["build-system"]["requires"])


def name(requirement: str) -> str:
    """Return the distribution of a requirement such as `psycopg[binary]>=3.2`, in its normal spelling."""
    matched = re.match(r"[A-Za-z0-9._-]+", requirement)
    if matched is None:
        raise ValueError(f"'{requirement}' names no distribution.")
    return re.sub(r"[-_.]+", "-", matched[0]).lower()


def _pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


FOLDER = ROOT / "ostraka" / "deploy" / "locks"
_HEADER = "# Made by `make locks`. Python 3.11 on x86-64 Linux.\n"


def files() -> dict[str, list[str]]:
    """Return each lock file's name with its requirements; the guardian has one, because it uses no GPU."""
    locks = {"build.txt": build_requirements(), "guardian.txt": requirements("guardian")}
    for role in ROLES[1:]:
        locks |= {f"{role}-{device}.txt": requirements(role) for device in DEVICES}
    return locks


def write(lock: str, wanted: list[str]) -> None:
    """Resolve `wanted` again, at the newest versions, and write `deploy/locks/<lock>`.

    Packages come from PyPI. Torch for CPUs comes from PyTorch's index, or from the folder in PIP_FIND_LINKS.

    Raises:
        subprocess.CalledProcessError: pip-compile found no solution, and has printed why.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder, "requirements.in")
        resolved = Path(folder, "requirements.txt")
        source.write_text("\n".join(wanted) + "\n", encoding="utf-8")
        options = ["--quiet", "--generate-hashes", "--strip-extras", "--allow-unsafe"]
        options += ["--no-header", "--no-annotate", "--no-emit-options", "--output-file", str(resolved)]
        command = [sys.executable, "-m", "piptools", "compile", *options, str(source)]
        subprocess.run(command, check=True, env=_environment(lock))
        (FOLDER / lock).write_text(_HEADER + resolved.read_text(encoding="utf-8"), encoding="utf-8")


def _environment(lock: str) -> dict[str, str]:
    """Return the settings of pip under which a lock file is resolved."""
    alone = {**os.environ, "PIP_CONFIG_FILE": os.devnull, "PIP_EXTRA_INDEX_URL": ""}
    if lock.endswith("-cuda.txt"):
        return {**alone, "PIP_FIND_LINKS": ""}
    return alone if os.environ.get("PIP_FIND_LINKS") else {**alone, "PIP_EXTRA_INDEX_URL": TORCH_CPU_INDEX}
