"""An option of a command by its row: its help, its range, and what it changes."""

import pytest

from tests.contributing.conftest import Copy
from tests.contributing.tree import Tree

OPTIONS, READER = "ostraka/client/students/options.py", "ostraka/client/students/trainers.py"
OPTION = """\
    rate: float | None = Field(default=None, gt=0, description="Highest learning rate of a network.")
"""
READ = """\
    if choice.rate is not None:
        learning = replace(learning, learning_rate=choice.rate)
"""
TRAINED = """
import sys
from pathlib import Path
from typer.testing import CliRunner
from ostraka.client.cli.query import app
from tests.deploy.whole import build

root = Path(sys.argv[1])
whole = build(root)
words = ["retrain", "--site", str(whole.folder("q")), "--labelled", str(root / "pool.npz")]
words += ["--test", str(root / "pool.npz"), "--student", "vat", "--steps", "3", "--device", "cpu"]

def student(*more: str) -> bytes:
    out = root / "student.safetensors"
    done = CliRunner().invoke(app, [*words, "--out", str(out), *more], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return out.read_bytes()

usual = student()
assert student("--rate", "0.002") == usual
assert student("--rate", "0.5") != usual
"""


@pytest.fixture(scope="module")
def added(copy: Copy) -> Tree:
    tree = copy("an option of a command")
    tree.insert(OPTIONS, "    steps: int | None", OPTION)
    tree.insert(READER, "    steps: int | None", "    rate: float | None = None\n", implied=True)
    tree.insert(READER, "    clustering = {", READ, implied=True)
    return tree


@pytest.mark.heavy
def test_the_command_has_it(added: Tree) -> None:
    said = added.command("query", "retrain", "--help")
    assert "--rate" in said
    assert "Highest learning rate of a network." in said
    words = ("query", "retrain", "--site", "q", "--labelled", "own.npz", "--student", "vat", "--rate", "0")
    assert "--rate: must be above 0" in " ".join(added.refusal(*words).split())


@pytest.mark.heavy
def test_the_command_does_what_it_says(added: Tree) -> None:
    (added.root / "federation").mkdir()
    added.python("-c", TRAINED, str(added.root / "federation"))
