"""What an image was built from decides whether it is built again."""

from pathlib import Path

import pytest

from ostraka.deploy.images import build


@pytest.fixture
def context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(build, "ROOT", tmp_path)
    for entry in (
        "pyproject.toml",
        "ostraka/__init__.py",
        "ostraka/guardian/serving/server.py",
        "ostraka/deploy/Dockerfile",
        "build/wheelhouse/a-1.whl",
    ):
        file = tmp_path / entry
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(entry)
    return tmp_path


@pytest.mark.parametrize(
    "entry",
    [
        "ostraka/__init__.py",
        "ostraka/guardian/serving/server.py",
        "ostraka/deploy/Dockerfile",
        "build/wheelhouse/pip.conf",
    ],
)
def test_a_changed_file_asks_for_a_build(context: Path, entry: str) -> None:
    before = build.inputs(())
    (context / entry).write_text("changed")
    assert build.inputs(()) != before


def test_options_and_wheels_ask_for_a_build_and_caches_do_not(context: Path) -> None:
    before = build.inputs(())
    assert build.inputs(("--network", "none")) != before
    (context / "ostraka" / "guardian" / "__pycache__").mkdir()
    (context / "ostraka" / "guardian" / "__pycache__" / "server.pyc").write_bytes(b"compiled")
    assert build.inputs(()) == before
    (context / "build" / "wheelhouse" / "b-1.whl").write_bytes(b"")
    assert build.inputs(()) != before
