"""The checksum file of a release, in the format of `sha256sum --check`."""

import hashlib
from pathlib import Path

NAME = "SHA256SUMS"


def write(folder: Path) -> Path:
    """Write the SHA-256 of every file of `folder` to a file in it, by name, and return that file."""
    files = sorted(folder.iterdir())
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    written = folder / NAME
    written.write_text("".join(sums), encoding="ascii")
    return written
