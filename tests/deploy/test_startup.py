"""What a command imports to show its version or its help: not what it would compute with."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command

from benchmarks.startup import paths
from ostraka.common.console.commands import import_command
from ostraka.deploy.cli import app

HEAVY = (
    *(
        "dp_accounting",
        "grpc",
        "jinja2",
        "matplotlib",
        "numpy",
        "opendp",
        "pandas",
        "polars",
        "prometheus_client",
    ),
    *("pyarrow", "scipy", "sklearn", "sqlalchemy", "tenseal", "torch"),
)
VERSION = """
import sys
from ostraka.deploy.cli import main
sys.argv[1:] = ["--version"]
try:
    main()
except SystemExit:
    print(*sys.modules)
"""
ADMINISTRATOR = """
import sys
from ostraka.deploy.cli import main
named = ["--federation", "sepsis", "--parties", "north,south", "--query", "west"]
sys.argv[1:] = ["provision", "local", *named, "--out", sys.argv[1]]
try:
    main()
finally:
    print(*sys.modules)
"""
HELP = """
import json
import sys
from typer.testing import CliRunner
from benchmarks.startup import paths
from ostraka.deploy.cli import app

loaded = {}
for words in paths():
    shown = CliRunner().invoke(app, [*words, "--help"])
    assert shown.exit_code == 0, (words, shown.output, shown.exception)
    loaded[" ".join(words)] = [name for name in sys.argv[1:] if name in sys.modules]
print(json.dumps(loaded))
"""


def python(program: str, *arguments: str) -> str:
    run = [sys.executable, "-c", program, *arguments]
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def test_the_version_is_shown_without_a_library_but_that_of_commands() -> None:
    shown, modules = python(VERSION).splitlines()
    assert shown.startswith("ostraka ")
    known = {name.partition(".")[0] for name in modules.split()}
    assert {"ostraka", "typer"} <= known
    assert not known & {*HEAVY, "asyncio", "cryptography", "google", "pydantic", "structlog"}


@pytest.mark.heavy
def test_help_of_no_command_imports_what_the_command_computes_with() -> None:
    loaded = json.loads(python(HELP, *HEAVY))
    assert len(loaded) > 50
    # Options of a simulation, listed last, are made of a plan's own, whose mechanism they check.
    assert list(loaded)[-1] == "simulate"
    assert loaded.pop("simulate") in ([], ["numpy"])
    assert not any(loaded.values()), loaded


def test_a_list_of_commands_says_of_each_what_its_own_help_begins_with() -> None:
    compared = 0
    for *above, name in paths():
        group = get_command(app)
        for word in above:
            group = import_command(group.commands[word], Context(group))  # type: ignore[attr-defined]
        listed = group.commands[name]  # type: ignore[attr-defined]
        own = import_command(listed, Context(listed))
        if above and own is not listed:
            assert own.help.split("\n\n")[0].replace("\n", " ").strip() == listed.help, (*above, name)
            compared += 1
    assert compared > 10


def test_an_administrator_makes_a_federation_without_what_others_compute_with(tmp_path: Path) -> None:
    shown = python(ADMINISTRATOR, str(tmp_path / "fed")).splitlines()
    assert (tmp_path / "fed" / "guardian" / "site.toml").is_file()
    assert not {name.partition(".")[0] for name in shown[-1].split()} & {*HEAVY} - {"grpc", "jinja2"}
