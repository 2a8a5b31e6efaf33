"""The packages of an image, by its lock file: a bill of materials, and known vulnerabilities."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ostraka.deploy.images import locks
from ostraka.deploy.images.locks import ROOT

FOLDER = ROOT / "build" / "sbom"


def write(lock: str, folder: Path = FOLDER) -> Path:
    """Write the packages of `deploy/locks/<lock>` as CycloneDX JSON to `folder` and return the file.

    System packages of the base image are not included.

    Raises:
        subprocess.CalledProcessError: the tool failed, and has printed why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / Path(lock).with_suffix(".cdx.json").name
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(locks.FOLDER / lock)]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "application"]
    command += ["--output-reproducible", "--validate", "--output-file", str(file)]
    subprocess.run(command, check=True)
    return file


UNREACHABLE = "Could not connect to PyPI"
"""pip-audit's message if PyPI is unreachable."""


@dataclass(frozen=True)
class PackageAudit:
    """What is known about the packages of one lock file."""

    looked_up: int
    unknown: tuple[str, ...]
    """Packages that the database does not have."""
    findings: tuple[str, ...]
    """One line per vulnerability: package, version, its id, the versions that fix it."""


def audit(lock: Path) -> PackageAudit:
    """Look up every package of `lock`; if the database is unreachable, the result is empty.

    A build for one device, such as torch 2.13.0+cpu, is looked up as its base version.

    Raises:
        RuntimeError: the look-up failed in another way.
    """
    with TemporaryDirectory() as folder:
        asked_about = Path(folder, lock.name)
        asked_about.write_text(public(lock.read_text(encoding="utf-8")), encoding="utf-8")
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
    return read(asked.stdout)


def public(text: str) -> str:
    """Return a lock file's text with builds for one device under their PyPI versions."""
    return re.sub(r"^(\S+==[^+\s]+)\+\S+", r"\1", text, flags=re.M)


def read(answer: str) -> PackageAudit:
    """Return the contents of pip-audit's JSON."""
    packages = json.loads(answer)["dependencies"]
    known = [package for package in packages if "skip_reason" not in package]
    findings = tuple(
        f"{package['name']} {package['version']}: {found['id']}, mended in "
        f"{', '.join(found['fix_versions']) or 'no version yet'}"
        for package in known
        for found in package["vulns"]
    )
    return PackageAudit(len(known), tuple(p["name"] for p in packages if "skip_reason" in p), findings)
