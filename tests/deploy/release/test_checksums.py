"""The sums are what sha256sum checks."""

import subprocess
from pathlib import Path

from ostraka.deploy.release import checksums


def checked(folder: Path) -> subprocess.CompletedProcess[str]:
    command = ["sha256sum", "--check", "--strict", checksums.NAME]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


def test_every_file_is_summed_and_a_changed_one_is_found(tmp_path: Path) -> None:
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    checksums.write(tmp_path)
    assert checked(tmp_path).stdout.splitlines() == ["a.tar.gz: OK", "b.whl: OK"]
    (tmp_path / "b.whl").write_text("another", encoding="utf-8")
    assert checked(tmp_path).returncode == 1
