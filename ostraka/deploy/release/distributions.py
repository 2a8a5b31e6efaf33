"""The source archive and the wheel of a commit: the same bytes wherever they are built.

Both are built from git's files, by the setuptools of `deploy/locks/build.txt`, with the commit's time.
"""

import gzip
import os
import subprocess
import sys
import tarfile
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from ostraka.deploy.install import pip_settings, uv_settings
from ostraka.deploy.release.commit import Commit


def build(commit: Commit, out: Path) -> Path:
    """Write source archive and wheel of `commit` to the folder `out`, and return the wheel.

    Raises:
        subprocess.CalledProcessError: the build failed, and has printed why.
    """
    with TemporaryDirectory() as folder:
        source = Path(folder, "source")
        commit.export(source)
        command = [sys.executable, "-m", "uv", "build", "--quiet", "--no-create-gitignore"]
        command += ["--build-constraints", str(source / "ostraka/deploy/locks/build.txt"), "--require-hashes"]
        command += ["--out-dir", str(out), str(source)]
        environment = os.environ | uv_settings(pip_settings(), os.environ)
        environment["SOURCE_DATE_EPOCH"] = str(commit.seconds)
        subprocess.run(command, check=True, env=environment, umask=0o022)
    (archive,) = out.glob("*.tar.gz")
    _settle(archive, commit.seconds)
    (wheel,) = out.glob("*.whl")
    return wheel


def _settle(archive: Path, seconds: int) -> None:
    """Rewrite a source archive in the order of names, with the time `seconds` since 1970 and no owner.

    The wheel does not need this: setuptools sorts it, and takes its time from SOURCE_DATE_EPOCH.
    """
    settled = BytesIO()
    with tarfile.open(archive) as found, tarfile.open(fileobj=settled, mode="w") as written:
        for member in sorted(found.getmembers(), key=lambda one: one.name):
            same = tarfile.TarInfo(member.name)
            same.type = member.type
            same.size = member.size
            same.mode = member.mode
            same.mtime = seconds
            written.addfile(same, found.extractfile(member))
    with archive.open("wb") as file, gzip.GzipFile("", "wb", fileobj=file, mtime=seconds) as packed:
        packed.write(settled.getvalue())
