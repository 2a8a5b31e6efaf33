"""Cosign and a registry on loopback, from Debian's packages where they are missing."""

import shutil
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.deploy.images.locks import ROOT
from tests.addresses import free_ports
from tests.compose import engine
from tests.waiting import until

FOLDER = ROOT / "build" / "cosign"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCE = f"deb [signed-by={KEYS}] http://deb.debian.org/debian trixie main"
"""The first of Debian's suites with cosign; its package needs nothing but the libc of bookworm."""


def cosign() -> Path:
    """Return cosign: an installed one, or Debian's, unpacked to build/cosign and installed nowhere."""
    if installed := shutil.which("cosign"):
        return Path(installed)
    unpacked = FOLDER / "usr" / "bin" / "cosign"
    if not unpacked.is_file():
        _download()
    return unpacked


def _download() -> None:
    """Unpack Debian's package; apt checks its signature, with lists apart from the system's."""
    (FOLDER / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    (FOLDER / "sources.list").write_text(f"{SOURCE}\n")
    places = {
        "Dir::Etc::sourcelist": FOLDER / "sources.list",
        "Dir::Etc::sourceparts": "-",
        "Dir::State::lists": FOLDER / "lists",
        "Dir::Cache": FOLDER / "cache",
    }
    apt = ["apt-get", "-q", *(part for key, place in places.items() for part in ("-o", f"{key}={place}"))]
    subprocess.run([*apt, "update"], check=True, cwd=FOLDER)
    subprocess.run([*apt, "download", "cosign"], check=True, cwd=FOLDER)
    (package,) = FOLDER.glob("cosign_*.deb")
    subprocess.run(["dpkg-deb", "--extract", str(package), str(FOLDER)], check=True)


@contextmanager
def registry(folder: Path) -> Iterator[str]:
    """Serve a registry of images on loopback, with its contents in `folder`, and yield its address."""
    engine.install({"docker-registry": "docker-registry"})
    (port,) = free_ports(1)
    address = f"127.0.0.1:{port}"
    settings = folder / "registry.yml"
    settings.write_text(
        "version: 0.1\n"
        "log: {accesslog: {disabled: true}, level: error}\n"
        f"storage: {{filesystem: {{rootdirectory: {folder / 'contents'}}}}}\n"
        f"http: {{addr: {address}}}\n"
    )
    with (folder / "registry.log").open("wb") as log:
        server = subprocess.Popen(["docker-registry", "serve", str(settings)], stdout=log, stderr=log)
        try:
            until(lambda: _answers(address))
            yield address
        finally:
            server.terminate()
            server.wait()


def _answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"http://{address}/v2/") as answer:
            return bool(answer.status == 200)
    except urllib.error.URLError:
        return False
