"""A real container engine with Ostraka's images, even without an installed engine or a reachable registry.

`python -m tests.compose.engine` makes everything that the compose file needs.
"""

import atexit
import hashlib
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from ostraka.deploy.images import build as images
from ostraka.deploy.images import locks
from ostraka.deploy.images.locks import ROLES, ROOT
from tests.fair_clock import FairClock

PYTHON = "python:3.11-slim-bookworm"
POSTGRES = "postgres:17-bookworm"
SERVERS = "ostraka-stand-in-servers"
"""Image with PostgreSQL and Squid, from Debian's packages."""
WHEELHOUSE = ROOT / "build" / "wheelhouse"
STAND_INS = Path(__file__).parent / "stand_ins"
STAND_IN = "ostraka.stand-in"
"""Label of an image that was made here in place of a registry's: the digest of what it was made from."""

PULL_S = 600.0
START_S = 60.0


@cache
def ensure() -> tuple[str, ...]:
    """Make sure that `docker` works, and return the command of compose.

    Missing programs are installed from Debian's packages. An engine that had to be started is stopped when
    this process ends.
    """
    install({"docker": "docker.io", "docker-compose": "docker-compose"})
    if not _answers("docker", "info"):
        install({"dockerd": "docker.io"})
        _start_engine()
    return ("docker", "compose") if _answers("docker", "compose", "version") else ("docker-compose",)


@cache
def base_image() -> bool:
    """Pull the Dockerfile's base image, or make it from Debian packages; return whether a registry
    answered."""
    if _pulled(PYTHON):
        return True
    packages = ("ca-certificates", "python3", "python3-venv", "python-is-python3")
    _import_debian(PYTHON, packages, 'CMD ["python3"]')
    return False


@cache
def postgres_image() -> None:
    """Pull the compose file's PostgreSQL, or make it from Debian's package with the same settings."""
    if _pulled(POSTGRES):
        return
    servers_image()
    folder = STAND_INS / "postgres"
    digest = _digest(file.read_bytes() for file in sorted(folder.iterdir()))
    if _made_from(POSTGRES) == digest:
        return
    options = ["--quiet", "--network", "none", "--build-arg", f"BASE={SERVERS}"]
    _run("docker", "build", *options, "--label", f"{STAND_IN}={digest}", "--tag", POSTGRES, str(folder))


@cache
def servers_image() -> None:
    """Make the image with servers from Debian's packages; tests always use Squid from it."""
    _import_debian(SERVERS, ("ca-certificates", "postgresql", "squid"))


@cache
def wheelhouse() -> Path:
    """Return folder `build/wheelhouse` with every locked wheel, found with this machine's pip settings."""
    wanted = [lock for lock in locks.files() if not lock.endswith("-cuda.txt")]
    digest = _digest((locks.FOLDER / lock).read_bytes() for lock in wanted)
    stamp = WHEELHOUSE / "made-from"
    if stamp.is_file() and stamp.read_text() == digest:
        return WHEELHOUSE
    shutil.rmtree(WHEELHOUSE, ignore_errors=True)
    for lock in wanted:
        options = ["--quiet", "--no-deps", "--require-hashes", "--only-binary", ":all:"]
        options += ["--dest", str(WHEELHOUSE), "--requirement", str(locks.FOLDER / lock)]
        _run(sys.executable, "-m", "pip", "download", *options)
    stamp.write_text(digest)
    return WHEELHOUSE


@cache
def build() -> None:
    """Build the three images from the current working tree."""
    if base_image():
        images.build(ROLES)
        return
    wheelhouse()
    images.build(ROLES, options=("--network", "none"))


def prepare() -> tuple[str, ...]:
    """Prepare engine and images, and return the command of compose."""
    command = ensure()
    build()
    servers_image()
    postgres_image()
    return command


def _import_debian(image: str, packages: Iterable[str], *changes: str) -> None:
    """Make `image` from Debian's smallest system and `packages`, unless it exists."""
    packages = tuple(packages)
    digest = _digest(package.encode() for package in packages)
    if _made_from(image) == digest:
        return
    install({"debootstrap": "debootstrap"})
    with TemporaryDirectory() as folder:
        system = Path(folder, "system")
        chosen = f"--include={','.join(packages)}"
        _run("debootstrap", "--variant=minbase", chosen, "bookworm", str(system), quiet=True)
        for waste in ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale"):
            shutil.rmtree(system / waste, ignore_errors=True)
        archive = Path(folder, "system.tar")
        _run("tar", "--create", "--file", str(archive), "--directory", str(system), ".")
        said = [f"--change={change}" for change in (f"LABEL {STAND_IN}={digest}", *changes)]
        _run("docker", "import", *said, str(archive), image, quiet=True)


def _pulled(image: str) -> bool:
    """Whether `image` is a registry's: pulled before, or now."""
    if _answers("docker", "image", "inspect", image) and _made_from(image) is None:
        return True
    try:
        return subprocess.run(["docker", "pull", "--quiet", image], timeout=PULL_S).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def _made_from(image: str) -> str | None:
    """Return the digest that a stand-in was made from; None if the image is no stand-in."""
    template = f'{{{{index .Config.Labels "{STAND_IN}"}}}}'
    command = ["docker", "image", "inspect", "--format", template, image]
    shown = subprocess.run(command, capture_output=True, text=True)
    return shown.stdout.strip() or None


def install(packages: dict[str, str]) -> None:
    """Install the Debian package of every program that is missing."""
    missing = [package for program, package in packages.items() if shutil.which(program) is None]
    if missing:
        _run("apt-get", "update", quiet=True)
        command = ["apt-get", "install", "--yes", "--no-install-recommends", *missing]
        _run("env", "DEBIAN_FRONTEND=noninteractive", *command, quiet=True)


def _start_engine() -> None:
    """Start dockerd for as long as this process lives."""
    log = ROOT / "build" / "dockerd.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as file:
        daemon = subprocess.Popen(
            ["dockerd"], stdin=subprocess.DEVNULL, stdout=file, stderr=file, process_group=0
        )
    atexit.register(_stop, daemon)
    clock = FairClock()
    while not _answers("docker", "info"):
        if clock.seconds() > START_S:
            raise RuntimeError(f"No container engine came up; {log} says why.")
        time.sleep(0.2)


def _stop(daemon: subprocess.Popen[bytes]) -> None:
    daemon.terminate()
    daemon.wait(START_S)


def _answers(*command: str) -> bool:
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True).returncode == 0


def _run(*command: str, quiet: bool = False) -> None:
    shown = subprocess.DEVNULL if quiet else None
    subprocess.run(command, check=True, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=shown)


def _digest(parts: Iterable[bytes]) -> str:
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


if __name__ == "__main__":
    prepare()
