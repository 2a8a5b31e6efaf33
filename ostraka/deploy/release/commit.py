"""The commit of a release: its tag, its time, its files."""

import subprocess
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path


@dataclass(frozen=True)
class Commit:
    """A commit that is checked out, without other changes.

    Attributes:
        root: the clone.
        digest: git's hash of the commit.
        seconds: when it was made, since 1970.
        tagged: whether it has the tag of its version.
    """

    root: Path
    digest: str
    seconds: int
    tagged: bool

    def export(self, folder: Path) -> None:
        """Write the commit's files to `folder`, with the same modes for any local git settings and umask."""
        archive = _git(self.root, "-c", "tar.umask=0022", "archive", "--format=tar", self.digest)
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")


def read_commit(root: Path, version: str) -> Commit:
    """Return the commit that the clone `root` has checked out.

    Raises:
        RuntimeError: files differ from the commit, or it has tags of versions and none is of `version`.
        subprocess.CalledProcessError: this is not a clone; git has printed why.
    """
    if _lines(root, "status", "--porcelain"):
        raise RuntimeError(
            "Commit or remove what `git status` lists: a release has the files of a commit alone."
        )
    tags = _lines(root, "tag", "--points-at", "HEAD", "v[0-9]*")
    if tags and f"v{version}" not in tags:
        raise RuntimeError(
            f"The commit's tag is {tags[0]} and its version {version}: tag the commit that says so."
        )
    (digest,) = _lines(root, "rev-parse", "HEAD")
    (seconds,) = _lines(root, "log", "-1", "--format=%ct")
    return Commit(root, digest, int(seconds), bool(tags))


def _lines(root: Path, *arguments: str) -> list[str]:
    return _git(root, *arguments).decode().splitlines()


def _git(root: Path, *arguments: str) -> bytes:
    return subprocess.run(["git", *arguments], cwd=root, check=True, stdout=subprocess.PIPE).stdout  # noqa: S607
