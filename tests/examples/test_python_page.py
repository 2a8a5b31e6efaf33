"""The blocks of docs/python.md run, in their order, as one program."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "python.md").read_text()


@pytest.mark.heavy
def test_every_block_runs(tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    script = tmp_path / "page.py"
    script.write_text("".join(re.findall(r"```python\n(.*?)```", PAGE, re.S)))
    done = subprocess.run([sys.executable, script.name], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "accuracy.png").is_file()
    assert (tmp_path / "run" / "labels.csv").is_file()


def test_entry_points_are_those_of_the_example() -> None:
    (shown,) = re.findall(r"```toml\n(.*?)```", PAGE, re.S)
    assert shown in (ROOT / "examples" / "noisy_max" / "pyproject.toml").read_text()
