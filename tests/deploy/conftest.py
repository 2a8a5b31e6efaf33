"""Ostraka's wheel, built once."""

import subprocess
import sys
from pathlib import Path

import pytest

from ostraka.deploy.images.locks import ROOT
from tests.skips import skip_or_fail

FOLDERS = ("client", "common", "deploy", "guardian", "protos", "services")


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel of the working tree, in a place where nothing of the tree is changed."""
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("ostraka", "pyproject.toml", "README.md", "LICENSE"):
        (source / name).symlink_to(ROOT / name)
    options = ["--quiet", "--no-deps", "--wheel-dir", str(out)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        skip_or_fail(f"the wheel cannot be built: {built.stderr.strip().splitlines()[-1]}")
    (made,) = out.glob("*.whl")
    return made
