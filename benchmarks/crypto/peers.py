"""Run a library's program if the library is installed, and read its output."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pydantic import TypeAdapter

from benchmarks.crypto.measured import Measured
from benchmarks.crypto.tasks import QUERIES, Peer

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
TIMEOUT = 540.0  # seconds for a program; the slowest needs a tenth of it alone on a core
FIND = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"

_MEASURED = TypeAdapter(Measured)


def install_command(peer: Peer, folder: Path) -> str:
    """Return the command that installs the library into `folder`."""
    if peer.installer == "npm":
        return f"npm install --prefix {folder} {peer.package}"
    return f"uv venv {folder} && uv pip install --python {folder} --group peers"


def run_peer(peer: Peer, folder: Path, repeats: int) -> Measured | None:
    """Measure one library; None if it is not installed.

    Args:
        peer: the library, and its task.
        folder: a virtual environment; packages for Node are in its `node_modules`.
        repeats: number of repetitions.

    Raises:
        subprocess.CalledProcessError: if the program fails, or its result is wrong; stderr says why.
        subprocess.TimeoutExpired: if it takes too long.
    """
    command = _command(peer, folder)
    if command is None:
        return None
    ended = subprocess.run(
        [*command, *peer.arguments, str(QUERIES[peer.task]), str(repeats)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},  # MPyC starts its other parties by their file
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        timeout=TIMEOUT,
    )
    return _MEASURED.validate_json(ended.stdout.splitlines()[-1])


def _command(peer: Peer, folder: Path) -> Sequence[str] | None:
    """Return the program's command without arguments; None if the library is not installed."""
    if peer.installer == "npm":
        node = shutil.which("node")
        modules = folder.resolve() / "node_modules"
        if node is None or not (modules / peer.package).is_dir():
            return None
        return node, str(PROGRAMS / f"{peer.program}.mjs"), str(modules)
    own = folder.absolute() / "bin" / "python"
    interpreter = str(own) if own.exists() else sys.executable
    if subprocess.run([interpreter, "-c", FIND, peer.package], check=False).returncode:
        return None
    return interpreter, "-m", f"benchmarks.crypto.programs.{peer.program}"
