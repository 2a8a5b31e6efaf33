"""The packages of an image, by its lock file, as a bill of materials."""

import subprocess
import sys
from pathlib import Path

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
