"""Builds the images, and skips existing ones."""

import hashlib
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ostraka import __version__
from ostraka.deploy.images.locks import ROOT

DOCKERFILE = ROOT / "ostraka" / "deploy" / "Dockerfile"
INPUTS = "ostraka.inputs"
"""Label of an image: the digest of all its inputs."""

_CONTEXT = ("pyproject.toml", "README.md", "LICENSE", "ostraka")


def tag(role: str, device: str = "cpu") -> str:
    """Return the image's name, such as `ostraka-party:0.1.0`, or `ostraka-party:0.1.0-cuda`."""
    return f"ostraka-{role}:{__version__}" + ("" if device == "cpu" else f"-{device}")


def build(roles: Iterable[str], *, device: str = "cpu", options: Sequence[str] = ()) -> list[str]:
    """Build the images of `roles` with the running engine and return the tags of new ones.

    `options` are passed to `docker build` unchanged.

    Raises:
        subprocess.CalledProcessError: the build failed, and has printed why.
    """
    digest = inputs(options)
    built = []
    for role in roles:
        image = tag(role, device)
        if _label(image) == digest:
            continue
        command = ["docker", "build", "--file", str(DOCKERFILE), "--target", role, "--tag", image]
        command += ["--build-arg", f"DEVICE={device}", "--label", f"{INPUTS}={digest}", *options, str(ROOT)]
        subprocess.run(command, check=True)
        built.append(image)
    return built


def size(image: str) -> int:
    """Return the bytes of `image`, including shared layers.

    Raises:
        subprocess.CalledProcessError: there is no such image.
    """
    shown = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{.Size}}", image],  # noqa: S607
        check=True,
        capture_output=True,
        text=True,
    )
    return int(shown.stdout)


def _label(image: str) -> str | None:
    """Return the inputs' digest of an existing image."""
    shown = subprocess.run(
        ["docker", "image", "inspect", "--format", "{{json .Config.Labels}}", image],  # noqa: S607
        check=False,
        capture_output=True,
        text=True,
    )
    return (json.loads(shown.stdout) or {}).get(INPUTS) if shown.returncode == 0 else None


def inputs(options: Sequence[str]) -> str:
    """SHA-256 of the build's options and of every file that can reach an image, in hex."""
    digest = hashlib.sha256("\0".join(options).encode())
    for file in _files():
        digest.update(f"\0{file.relative_to(ROOT)}\0".encode())
        digest.update(file.read_bytes() if file.suffix != ".whl" else b"")
    return digest.hexdigest()


def _files() -> Iterator[Path]:
    for entry in (*_CONTEXT, "build/wheelhouse"):
        path = ROOT / entry
        found = [path] if path.is_file() else sorted(path.rglob("*"))
        yield from (file for file in found if file.is_file() and "__pycache__" not in file.parts)
