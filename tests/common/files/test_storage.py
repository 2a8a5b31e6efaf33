"""Full disks, told by the system, by libraries, and by commands."""

import errno
import sys
from pathlib import Path

import pytest
import typer
from safetensors import SafetensorError

from ostraka.common.console.cli import run, write_json
from ostraka.common.errors import OstrakaError
from ostraka.common.files.durable import MIN_ROOM_BYTES, is_used_up, replace_durably, room_in
from tests.disk import fill, free, small_disk


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError(errno.EDQUOT, "Disk quota exceeded"),
        SafetensorError("I/O error: No space left on device (os error 28)"),
    ],
)
def test_whoever_tells_of_a_full_disk_is_understood(error: Exception) -> None:
    with pytest.raises(OstrakaError, match="no room on the disk of here") as refused, room_in(Path("here")):
        raise error
    assert refused.value.code == "storage.full"


def test_other_errors_stay_as_they_are() -> None:
    with pytest.raises(PermissionError), room_in(Path("here")):
        raise PermissionError(errno.EACCES, "Permission denied")


def test_a_file_on_a_full_disk_is_the_old_one(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 64) as disk:
        replace_durably(disk / "file", b"old")
        fill(disk)
        with pytest.raises(OstrakaError, match=f"no room on the disk of {disk}"):
            replace_durably(disk / "file", b"new")
        assert (disk / "file").read_bytes() == b"old"
        assert not (disk / "file.tmp").exists()
        with pytest.raises(OstrakaError, match=f"no room on the disk of {disk}"):
            write_json({"a": "b" * 5000}, str(disk / "result.json"))
        assert not (disk / "result.json").exists()
        free(disk)
        replace_durably(disk / "file", b"new")
        assert (disk / "file").read_bytes() == b"new"


def test_a_disk_with_next_to_no_room_counts_as_used_up(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4 * MIN_ROOM_BYTES // 1024) as disk:
        assert not is_used_up(disk)
        (disk / "most").write_bytes(bytes(3 * MIN_ROOM_BYTES + MIN_ROOM_BYTES // 2))
        assert is_used_up(disk)
    assert not is_used_up(tmp_path / "missing")


def test_a_command_leaves_with_one_sentence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["write"])
    app = typer.Typer()

    @app.command()
    def write() -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "/mnt/full/file")

    with pytest.raises(SystemExit) as left:
        run(app)
    assert left.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error [storage.full]: ")
    assert "/mnt/full/file" in line
