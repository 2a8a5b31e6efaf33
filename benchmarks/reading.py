"""Cost of reading a table, next to pandas and polars: `python -m benchmarks.reading`.

Prints processor seconds and peak memory of one process each, including Python and its imports.
"""

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

FIRST_DAY = np.datetime64("2015-01-01")
TASK = """name = "reading"
label = "y"
classes = ["a", "b"]

[input]
kind = "table"
preprocessing = "range"
columns = [
{columns}
]
"""


@dataclass(frozen=True)
class Column:
    """A column of random cells, and its description in a task."""

    name: str
    cells: list[str]
    fields: str

    def line(self) -> str:
        """Return the task's line for the column."""
        return f'    {{ name = "{self.name}", {self.fields} }},'


def hospital_columns(rows: int, random: np.random.Generator) -> list[Column]:
    """Return 19 columns: measured and integer numbers, a truth value, a category and a day."""
    measured = [
        Column(f"m{at}", [f"{value:.4g}" for value in random.normal(50, 10, rows)], "min = -100, max = 200")
        for at in range(12)
    ]
    whole = [
        Column(f"w{at}", random.integers(0, 100, rows).astype(str).tolist(), "min = 0, max = 100")
        for at in range(4)
    ]
    days = FIRST_DAY + random.integers(0, 3000, rows)
    return [
        *measured,
        *whole,
        Column("smoker", random.choice(["yes", "no"], rows).tolist(), 'kind = "boolean"'),
        Column("sex", random.choice(["f", "m"], rows).tolist(), 'kind = "category", values = ["f", "m"]'),
        Column("day", days.astype(str).tolist(), 'kind = "date", min = 2015-01-01, max = 2030-12-31'),
    ]


def genes(rows: int, many: int, random: np.random.Generator) -> list[Column]:
    """Return `many` columns of measured numbers."""
    values = random.normal(0, 1, (many, rows))
    return [
        Column(f"g{at}", [f"{value:.3f}" for value in column], "min = -10, max = 10")
        for at, column in enumerate(values)
    ]


def write(columns: list[Column], folder: Path, random: np.random.Generator) -> None:
    """Write `records.csv` with an additional label, and `task.toml`."""
    label = random.choice(["a", "b"], len(columns[0].cells)).tolist()
    rows = zip(*(column.cells for column in columns), label, strict=True)
    header = ",".join([*(column.name for column in columns), "y"])
    (folder / "records.csv").write_text("\n".join([header, *map(",".join, rows)]) + "\n")
    lines = "\n".join(column.line() for column in columns)
    (folder / "task.toml").write_text(TASK.format(columns=lines))


READERS = {
    "ostraka task check": "from ostraka.deploy.cli import main; main()",
    "pandas.read_csv": "import pandas; pandas.read_csv('records.csv')",
    "polars.read_csv": "import polars; polars.read_csv('records.csv', infer_schema_length=None)",
}
TELL = """
import atexit, time
from pathlib import Path

def tell():
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    print("used", time.process_time(), int(peak.split()[1]) / 1000)

atexit.register(tell)
"""
"""Reported by the process itself: the system's figure for a child includes memory from before the fork."""


def measure(code: str, folder: Path) -> tuple[float, float]:
    """Return the processor seconds and the peak megabytes of a process that runs `code` in `folder`."""
    arguments = ["task", "check", "task.toml", "records.csv"]
    done = subprocess.run(
        [sys.executable, "-c", TELL + code, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    used = done.stdout.splitlines()[-1].split()
    return float(used[1]), float(used[2])


def main() -> None:
    """Print the table of docs/task.md."""
    random = np.random.default_rng(0)
    tables = {
        "100,000 rows by 20 columns": hospital_columns(100_000, random),
        "100 rows by 5,000 columns": genes(100, 5_000, random),
    }
    for table, columns in tables.items():
        with tempfile.TemporaryDirectory() as folder:
            write(columns, Path(folder), random)
            for reader, code in READERS.items():
                seconds, megabytes = measure(code, Path(folder))
                print(f"{table}: {reader} {seconds:.1f} processor s, {megabytes:.0f} MB")


if __name__ == "__main__":
    main()
