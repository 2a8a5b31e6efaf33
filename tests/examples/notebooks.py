"""Notebooks as committed: executed, without what differs by machine. `python -m` brings them into this
form."""

import hashlib
import re
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
LOG_LINE = re.compile(r'\{"event": |[IWE]\d{4} ')
"""Beginnings of log lines of a server and of gRPC, which contain times."""


def notebooks() -> list[Path]:
    """Return the files of all notebooks."""
    return sorted(FOLDER.glob("*.ipynb"))


def read(path: Path) -> Any:
    """Return a notebook; raise an error if it is invalid."""
    # Imported late: its grammars take seconds to load, which would slow every collection of tests.
    import nbformat

    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return notebook


def execute(path: Path) -> Any:
    """Return a notebook after running its code in a kernel of this Python; raises what a cell raises."""
    from nbclient import NotebookClient

    notebook = read(path)
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    where = {"metadata": {"path": str(FOLDER)}}
    client = NotebookClient(
        notebook, timeout=None, kernel_name="python3", resources=where, record_timing=False
    )
    client.execute()
    return notebook


def normalise(notebook: Any) -> None:
    """Remove what differs by machine and by time, and store a digest of the code that the outputs belong
    to."""
    notebook.metadata = METADATA | {"ostraka": {"executed": code_digest(notebook)}}
    for number, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{number}", {}
    for cell in code_cells(notebook):
        cell.outputs = [output for output in cell.outputs if not is_log(output)]
    for output in (output for cell in code_cells(notebook) for output in cell.outputs):
        if {"text/html", "image/png"} & output.get("data", {}).keys():
            output["data"].pop("text/plain", None)


def is_log(output: Any) -> bool:
    """Whether a cell's output consists only of log lines."""
    return bool(output.get("name") == "stderr" and all(map(LOG_LINE.match, output["text"].splitlines())))


def code_cells(notebook: Any) -> list[Any]:
    """Return the cells that hold code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def code_digest(notebook: Any) -> str:
    """Return the SHA-256 of a notebook's code, in hex."""
    return hashlib.sha256("\0".join(cell.source for cell in code_cells(notebook)).encode()).hexdigest()


def main(names: list[str]) -> None:
    """Execute the notebooks with these names, or all, and write them back."""
    import nbformat

    for path in notebooks():
        if not names or path.stem in names:
            notebook = execute(path)
            normalise(notebook)
            nbformat.write(notebook, path)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main(sys.argv[1:])
