"""`python -m ostraka.deploy.release`: write all files of a release to the folder dist."""

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from ostraka import __version__
from ostraka.deploy.images import locks, sbom
from ostraka.deploy.images.locks import ROOT
from ostraka.deploy.release import bill, checksums, distributions
from ostraka.deploy.release.commit import Commit, read_commit

DIST = ROOT / "dist"


def release(commit: Commit) -> Path:
    """Write the release of a commit to `dist`, replacing its contents, and return the checksum file.

    Raises:
        subprocess.CalledProcessError: a tool failed, and has printed why.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder, DIST.name)
        wheel = distributions.build(commit, out)
        bill.write(wheel, commit)
        for lock in locks.files():
            sbom.write(lock, out)
        checksums.write(out)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.copytree(out, DIST)
    return DIST / checksums.NAME


def main() -> int:
    """Make the release and show its checksums; return 2 with one sentence if it is refused or fails."""
    try:
        commit = read_commit(ROOT, __version__)
        sums = release(commit)
    except (OSError, RuntimeError, subprocess.CalledProcessError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(sums.read_text(encoding="ascii"), end="")
    if not commit.tagged:
        print(f"A rehearsal: commit {commit.digest[:8]} has no tag v{__version__}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
