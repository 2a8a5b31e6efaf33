"""Known vulnerabilities of the packages of a lock file, by PyPI's database."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
from pydantic import BaseModel, ValidationError

UNREACHABLE = "Could not connect to PyPI"
"""pip-audit's message if PyPI is unreachable."""


def pypi(address: str = "https://pypi.org/pypi") -> httpx.Client:
    """Return a client of PyPI, or of a mirror, that keeps its connection."""
    return httpx.Client(base_url=address, timeout=30.0, follow_redirects=True)


@dataclass(frozen=True)
class PackageAudit:
    """What is known about the packages of one lock file."""

    looked_up: int
    unknown: tuple[str, ...]
    """Packages whose version the database does not have."""
    findings: tuple[str, ...]
    """One line per vulnerability: package, version, its id, the versions that fix it."""


class Vulnerability(BaseModel):
    """A vulnerability as PyPI tells it."""

    id: str
    fixed_in: tuple[str, ...]
    withdrawn: str | None


class Release(BaseModel):
    """A version of a project."""

    version: str


class Project(BaseModel):
    """What PyPI tells of a project: its newest version, and the vulnerabilities of that version."""

    info: Release
    vulnerabilities: tuple[Vulnerability, ...]


Ask = Callable[[str], Project | None]
"""Returns the page of a project, None without one."""


def audit(lock: Path, ask: Ask) -> PackageAudit:
    """Look up every package of `lock`; if the database is unreachable, the result is empty.

    A build for one device, such as torch 2.13.0+cpu, is looked up as its base version.

    Args:
        lock: the file.
        ask: for packages whose version the database does not have.

    Raises:
        RuntimeError: the look-up failed in another way.
    """
    wanted = public(lock.read_text(encoding="utf-8"))
    with TemporaryDirectory() as folder:
        asked_about = Path(folder, lock.name)
        asked_about.write_text(wanted, encoding="utf-8")
        options = ["--disable-pip", "--no-deps", "--format", "json", "--progress-spinner", "off"]
        asked = subprocess.run(
            [sys.executable, "-m", "pip_audit", "--requirement", str(asked_about), *options],
            capture_output=True,
            text=True,
            check=False,
        )
    if not asked.stdout.strip():
        if UNREACHABLE in asked.stderr:
            return PackageAudit(0, (), ())
        raise RuntimeError(f"pip-audit failed on {lock.name}: {asked.stderr.strip()}")
    return look_up_newest(read(asked.stdout), versions(wanted), ask)


def public(text: str) -> str:
    """Return a lock file's text with builds for one device under their PyPI versions."""
    return re.sub(r"^(\S+==[^+\s]+)\+\S+", r"\1", text, flags=re.M)


def versions(text: str) -> dict[str, str]:
    """Return the version of each package of a lock file's text."""
    return dict(re.findall(r"^([^\s=]+)==(\S+)", text, flags=re.M))


def read(answer: str) -> PackageAudit:
    """Return the contents of pip-audit's JSON."""
    packages = json.loads(answer)["dependencies"]
    known = [package for package in packages if "skip_reason" not in package]
    findings = tuple(
        _finding(package["name"], package["version"], found["id"], found["fix_versions"])
        for package in known
        for found in package["vulns"]
    )
    return PackageAudit(len(known), tuple(p["name"] for p in packages if "skip_reason" in p), findings)


def look_up_newest(found: PackageAudit, locked: Mapping[str, str], ask: Ask) -> PackageAudit:
    """Look up by the pages of their projects what the database does not have by version.

    Mirrors of PyPI may serve nothing but these pages, which tell of the newest version alone. So a package
    that is locked at an older version stays unknown.

    Args:
        found: what was found by version.
        locked: the version of each package.
        ask: for the pages.
    """
    pages = {name: ask(name) for name in found.unknown}
    told = {name: page for name, page in pages.items() if page and page.info.version == locked[name]}
    findings = (
        _finding(name, locked[name], vulnerability.id, vulnerability.fixed_in)
        for name, page in told.items()
        for vulnerability in page.vulnerabilities
        if not vulnerability.withdrawn
    )
    return PackageAudit(
        found.looked_up + len(told),
        tuple(name for name in found.unknown if name not in told),
        (*found.findings, *findings),
    )


def project(index: httpx.Client, name: str) -> Project | None:
    """Return an index's page of a project; None if it has none that can be read."""
    try:
        answer = index.get(f"/{name}/json")
        return Project.model_validate_json(answer.content) if answer.is_success else None
    except (httpx.HTTPError, ValidationError):
        return None


def _finding(name: str, version: str, vulnerability: str, fixed_in: Sequence[str]) -> str:
    return f"{name} {version}: {vulnerability}, mended in {', '.join(fixed_in) or 'no version yet'}"
