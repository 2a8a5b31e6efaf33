"""A package beside Ostraka brings a mechanism: built, installed, and released by a real guardian."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.skips import skip_or_fail

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "noisy_max"
LABEL = """
import sys
from pathlib import Path
from ostraka.mechanisms import known_mechanism
from tests.deploy.whole import QUERIES, build

root = Path(sys.argv[1])
NoisyMax = known_mechanism("noisy_max")
whole = build(root)
with whole.guardian(), whole.parties():
    result = whole.label(root / "run", mechanism=NoisyMax(scale=2.0))
assert result.answered == QUERIES, result
print(sys.modules[NoisyMax.__module__].__file__, sys.modules["noisy_max_rule"].__file__)
"""


def run(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, env=os.environ | env, capture_output=True, text=True
    )


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return a folder that holds the package as pip installs its wheel."""
    source, wheels, packages = tmp_path / "source", tmp_path / "wheels", tmp_path / "packages"
    shutil.copytree(EXAMPLE, source)
    built = run("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(source))
    if built.returncode:
        skip_or_fail(f"the wheel cannot be built: {built.stderr.strip().splitlines()[-1]}")
    (wheel,) = wheels.iterdir()
    done = run("-m", "pip", "install", "--quiet", "--no-deps", "--target", str(packages), str(wheel))
    assert done.returncode == 0, done.stderr
    return packages


@pytest.mark.heavy
def test_a_guardian_releases_it(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "federation").mkdir()
    done = run("-c", LABEL, str(tmp_path / "federation"), PYTHONPATH=str(installed))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1].split() == [
        str(installed / f"{name}.py") for name in ("noisy_max", "noisy_max_rule")
    ]


@pytest.mark.heavy
def test_commands_know_it(installed: Path) -> None:
    listed = run("-m", "ostraka.deploy.cli", "mechanisms", "--json", "-", PYTHONPATH=str(installed))
    (found,) = [one for one in json.loads(listed.stdout) if one["name"] == "noisy_max"]
    assert found["charged_as"] == "pure 2/scale-DP for every query"
    words = ("--classes", "10", "--parties", "3", "--epsilon", "10", "--json", "-")
    plan = ("-m", "ostraka.deploy.cli", "guardian", "plan", "--mechanism")
    planned = run(*plan, "noisy_max:scale=8", *words, PYTHONPATH=str(installed))
    assert planned.returncode == 0, planned.stderr
    assert json.loads(planned.stdout)["mechanism"]["scale"] == 8
    refused = run(*plan, "noisy_max:scalle=8", *words, PYTHONPATH=str(installed))
    assert refused.returncode == 2
    assert "did you mean scale?" in refused.stderr


def test_it_imports_nothing_but_the_public_interface() -> None:
    lines = "".join(file.read_text() for file in EXAMPLE.glob("*.py")).splitlines()
    used = {line.split()[1] for line in lines if line.startswith(("import ostraka", "from ostraka"))}
    assert used == {"ostraka.mechanisms"}
