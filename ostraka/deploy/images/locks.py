"""The lock files of the images: every package at one version, with the hashes of its files."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ostraka.deploy.images.roles import DEVICES, ROLES, ROOT, build_requirements, requirements

FOLDER = ROOT / "ostraka" / "deploy" / "locks"
TORCH_CPU_INDEX = "https://download.pytorch.org/whl/cpu"
_HEADER = "# Made by `make locks`. Python 3.11 on x86-64 Linux.\n"


def files() -> dict[str, list[str]]:
    """Every lock file's name with what it is to satisfy; the guardian runs on no GPU, so it has one."""
    locks = {"build.txt": build_requirements(), "guardian.txt": requirements("guardian")}
    for role in ROLES[1:]:
        locks |= {f"{role}-{device}.txt": requirements(role) for device in DEVICES}
    return locks


def write(lock: str, wanted: list[str]) -> None:
    """Resolve `wanted` anew, at the newest versions, and write `deploy/locks/<lock>`.

    Packages are PyPI's. Torch for CPUs is from PyTorch's index, or from the folder that PIP_FIND_LINKS names.

    Raises:
        subprocess.CalledProcessError: pip-compile found no answer; it has said why.
    """
    with TemporaryDirectory() as folder:
        source, resolved = Path(folder, "requirements.in"), Path(folder, "requirements.txt")
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
