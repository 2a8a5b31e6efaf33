"""Every notebook runs, and shows what its code gave when it was last executed."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.examples.notebooks import code_cells, code_digest, execute, is_log, notebooks, read

LOCAL = re.compile(r"/(tmp|home|root|Users)/|site-packages")
MOST_BYTES = 400_000


def of_output(output: Any) -> str:
    """Return everything that an output says as text."""
    data = output.get("data", {}).items()
    return "".join([output.get("text", ""), *(text for kind, text in data if kind.startswith("text/"))])


@pytest.mark.heavy
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    cells = code_cells(execute(path))
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))


@pytest.mark.heavy
@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_its_outputs_are_of_its_code_and_of_no_machine(path: Path) -> None:
    notebook = read(path)
    assert notebook.metadata["ostraka"]["executed"] == code_digest(notebook), (
        f"the code changed: python -m tests.examples.notebooks {path.stem}"
    )
    cells = code_cells(notebook)
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    outputs = [output for cell in cells for output in cell.outputs]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if LOCAL.search(of_output(output))]
    assert not any(cell.metadata for cell in notebook.cells)
    assert not any(map(is_log, outputs))
    assert path.stat().st_size < MOST_BYTES


def test_there_is_one_for_each_role() -> None:
    assert [path.stem for path in notebooks()] == [
        "data_protection_officer",
        "data_scientist",
        "operator",
        "researcher",
    ]
