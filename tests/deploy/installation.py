"""Environments that hold the wheel and the packages of some of its extras, installed by uv."""

import os
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from ostraka.deploy.images.locks import name
from ostraka.deploy.install import pip_settings, uv_settings
from ostraka.deploy.simulation.processes import CHILD, MAIN
from tests.skips import skip_or_fail


@dataclass(frozen=True)
class Installation:
    """An environment, and how many seconds it took to make."""

    folder: Path
    seconds: float

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(self.folder / "bin" / "python")

    @property
    def megabytes(self) -> float:
        """The size of its packages, including compiled modules, in 10^6 bytes."""
        files = (self.folder / "lib").rglob("*")
        return sum(file.lstat().st_size for file in files if not file.is_dir()) / 1e6

    @property
    def distributions(self) -> set[str]:
        """Names of installed distributions."""
        found = (self.folder / "lib").glob("*/site-packages/*.dist-info")
        return {name(folder.name.partition("-")[0]) for folder in found}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run its `ostraka` to completion."""
        program = [str(self.folder / "bin" / "ostraka"), *command]
        return subprocess.run(program, capture_output=True, text=True, env=_alone(os.environ))

    def start(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str]
    ) -> subprocess.Popen[bytes]:
        """Start its `ostraka`, as a process that dies with this one."""
        program = [str(self.folder / "bin" / "ostraka"), *arguments]
        return subprocess.Popen(
            [sys.executable, "-IS", str(CHILD), str(os.getpid()), *program],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=_alone(environment),
            start_new_session=True,
        )


@dataclass(frozen=True)
class ByGroup:
    """Starts each command with the installation of the role it belongs to: the first prefix that matches."""

    givers: Mapping[str, Installation]

    def __call__(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
    ) -> subprocess.Popen[bytes]:
        """Start a command line of `ostraka`."""
        assert entry == MAIN
        line = " ".join(arguments)
        giver = next(giver for words, giver in self.givers.items() if line.startswith(words))
        return giver.start(arguments, log, environment)


def install(wheel: Path, extras: Collection[str], folder: Path) -> Installation:
    """Install `wheel` with `extras` into a new environment; torch is the build that runs the tests."""
    began = time.monotonic()
    constraints = folder.with_suffix(".constraints")
    constraints.write_text(f"torch=={version('torch')}\n", encoding="utf-8")
    wanted = f"ostraka[{','.join(extras)}] @ {wheel.as_uri()}"
    _uv("venv", "--python", sys.executable, str(folder))
    options = ("--compile-bytecode", "--constraints", str(constraints))
    _uv("pip", "install", "--python", str(folder), *options, wanted)
    return Installation(folder, time.monotonic() - began)


def install_beside(wheel: Path, others: Sequence[Installation], folder: Path) -> Installation:
    """Install only `wheel` into a new environment, which sees the packages of others after its own.

    It reuses what the others have installed and compiled, which would take minutes to do again.
    """
    began = time.monotonic()
    _uv("venv", "--python", sys.executable, str(folder))
    _uv("pip", "install", "--python", str(folder), "--compile-bytecode", "--no-deps", str(wheel))
    packages = [site_packages(other.folder) for other in others]
    (site_packages(folder) / "others.pth").write_text("".join(f"{found}\n" for found in packages))
    return Installation(folder, time.monotonic() - began)


def site_packages(folder: Path) -> Path:
    """Return an environment's folder of packages."""
    (found,) = (folder / "lib").glob("*/site-packages")
    return found


def _uv(*command: str) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "uv", "--quiet", *command],
        capture_output=True,
        text=True,
        env=os.environ | uv_settings(pip_settings(), os.environ),
    )
    if ran.returncode:
        skip_or_fail(f"packages cannot be installed: {ran.stderr.strip()}")


def _alone(environment: Mapping[str, str]) -> dict[str, str]:
    return {variable: value for variable, value in environment.items() if variable != "PYTHONPATH"}
