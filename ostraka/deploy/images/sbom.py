"""What is in an image, by its lock file: a bill of materials, and what is known to be vulnerable."""

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
    """Write what `deploy/locks/<lock>` holds as CycloneDX JSON to `folder` and return the file.

    Packages of the base image's system are not in it.

    Raises:
        subprocess.CalledProcessError: the tool failed; it has said why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / Path(lock).with_suffix(".cdx.json").name
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(locks.FOLDER / lock)]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "application"]
    command += ["--output-reproducible", "--validate", "--output-file", str(file)]
    subprocess.run(command, check=True)
    return file


UNREACHABLE = "Could not connect to PyPI"
"""What pip-audit says then."""


@dataclass(frozen=True)
class PackageAudit:
    """What is known of the packages of one lock file."""

    looked_up: int
    unknown: tuple[str, ...]
    """Packages that the database does not have."""
    findings: tuple[str, ...]
    """One line a vulnerability: package, version, its id, the versions that mend it."""


def audit(lock: Path) -> PackageAudit:
    """Look up every package of `lock`; where the database cannot be reached, none is found.

    A build for one device, such as torch 2.13.0+cpu, is looked up as the version that it is a build of.

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
    """Return a lock file's text with the versions by which PyPI knows builds for one device."""
    return re.sub(r"^(\S+==[^+\s]+)\+\S+", r"\1", text, flags=re.M)


def read(answer: str) -> PackageAudit:
    """Return what pip-audit's JSON says."""
    packages = json.loads(answer)["dependencies"]
    known = [package for package in packages if "skip_reason" not in package]
    findings = tuple(
        f"{package['name']} {package['version']}: {found['id']}, mended in "
        f"{', '.join(found['fix_versions']) or 'no version yet'}"
        for package in known
        for found in package["vulns"]
    )
    return PackageAudit(len(known), tuple(p["name"] for p in packages if "skip_reason" in p), findings)
