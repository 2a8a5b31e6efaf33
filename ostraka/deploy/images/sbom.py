"""A bill of materials for each image, from the lock file that it was built from."""

import subprocess
import sys
from pathlib import Path

from ostraka.deploy.images import locks
from ostraka.deploy.images.roles import ROOT

FOLDER = ROOT / "build" / "sbom"


def write(lock: str) -> Path:
    """Write what `deploy/locks/<lock>` holds as CycloneDX JSON to `build/sbom` and return the file.

    Packages of the base image's system are not in it.

    Raises:
        subprocess.CalledProcessError: the tool failed; it has said why.
    """
    FOLDER.mkdir(parents=True, exist_ok=True)
    file = FOLDER / Path(lock).with_suffix(".cdx.json").name
    command = [sys.executable, "-W", "ignore", "-m", "cyclonedx_py", "requirements", str(locks.FOLDER / lock)]
    command += ["--pyproject", str(ROOT / "pyproject.toml"), "--mc-type", "application"]
    command += ["--output-reproducible", "--validate", "--output-file", str(file)]
    subprocess.run(command, check=True)
    return file
