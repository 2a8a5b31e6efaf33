"""The committed stubs are what the definitions say."""

from pathlib import Path

import pytest

from ostraka.deploy.protos import PACKAGE_ROOT, SOURCES, generate


def stubs(root: Path) -> dict[str, str]:
    folder = root / SOURCES
    paths = [path for pattern in ("*_pb2*.py", "*_pb2*.pyi") for path in folder.glob(pattern)]
    return {path.name: path.read_text() for path in paths}


@pytest.mark.heavy
def test_committed_stubs_are_current(tmp_path: Path) -> None:
    generate(tmp_path)
    made, committed = stubs(tmp_path), stubs(PACKAGE_ROOT)
    assert made.keys() == committed.keys()
    different = [name for name in made if made[name] != committed[name]]
    assert different == [], "run `make protos` and commit what it writes"
