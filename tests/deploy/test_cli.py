import os
import re
import socket
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from typer import Context
from typer.main import get_command
from typer.testing import CliRunner

from ostraka.common.console.cli import ExitStatus
from ostraka.common.console.commands import import_command
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning import provision

PROBE = """
import sys
from ostraka.deploy.cli import main
try:
    main()
except SystemExit as left:
    roles = {name: f"ostraka.{name}" for name in ("services", "guardian", "client")} | {"torch": "torch"}
    print(left.code, *sorted(name for name in roles if roles[name] in sys.modules))
"""


def ostraka(*arguments: str) -> tuple[str, str]:
    """Output and errors; the last line of the output is the exit status and what was imported."""
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout, done.stderr


@pytest.mark.heavy
def test_no_group_is_imported_to_list_the_groups() -> None:
    out, _ = ostraka("--help")
    assert all(name in out for name in ("guardian", "party", "query", "provision", "simulate"))
    assert out.splitlines()[-1] == "0"


@pytest.mark.heavy
def test_a_group_parses_its_own_options() -> None:
    out, _ = ostraka("guardian", "--help")
    assert "ostraka guardian" in out
    assert out.splitlines()[-1] == "0 guardian"


@pytest.mark.heavy
def test_mechanisms_are_listed_without_any_role() -> None:
    out, _ = ostraka("mechanisms")
    assert "gnmax:sigma=" in out
    assert out.splitlines()[-1] == "0"


@pytest.mark.heavy
@pytest.mark.parametrize("arguments", [("nonsense",), ("provision", "sign"), ("guardian", "nonsense")])
def test_usage_errors_leave_with_two(arguments: tuple[str, ...]) -> None:
    out, err = ostraka(*arguments)
    assert out.splitlines()[-1].split()[0] == "2"
    assert "Usage" in err


def refused(*arguments: str) -> str:
    """Return the one line printed by a command that exits with 2."""
    out, err = ostraka(*arguments)
    assert out.splitlines()[-1].split()[0] == "2"
    (line,) = err.splitlines()
    return line


@pytest.mark.heavy
def test_an_error_of_a_group_is_one_line(tmp_path: Path) -> None:
    line = refused("guardian", "budget", "show", "--site", str(tmp_path))
    assert line.startswith("error [config.invalid]: ")


@pytest.mark.heavy
def test_what_grpc_says_of_a_failure_is_not_added_to_the_line(tmp_path: Path) -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        port = holder.getsockname()[1]
        made = provision("demo", ["a"], "q", tmp_path / "out", base_port=port)
        line = refused("guardian", "serve", "--site", str(made.guardian))
        assert line.startswith("error [server.port_in_use]: ")
    line = refused("guardian", "budget", "show", "--site", str(made.admin))
    assert line.startswith("error [server.unreachable]: ")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("ostraka prov", ["provision"]),
        ("ostraka guardian bud", ["budget"]),
        ("ostraka guardian budget fr", ["freeze"]),
        ("ostraka simulate --eps", ["--epsilon", "--epsilons"]),
        ("ostraka query plan --tally bl", ["blind"]),
        ("ostraka query label --mechanism gn", ["gnmax"]),
        ("ostraka query plan --mechanism conf", ["confident"]),
        ("ostraka guardian plan --mechanism tau", ["tau"]),
        ("ostraka simulate --mechanism noise", ["noise_cluster"]),
    ],
)
def test_bash_completes_commands_of_every_group(typed: str, offered: list[str]) -> None:
    folder = str(Path(sys.executable).parent)
    script = f"""
eval "$(ostraka --show-completion bash)"
COMP_WORDS=({typed}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_ostraka_completion ostraka
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = os.environ | {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=environment, capture_output=True, text=True, check=True
    )
    assert (done.stdout.split(), done.stderr) == (offered, "")


@pytest.mark.parametrize(
    ("words", "at_most"),
    [("simulate", 43), ("query learn", 31), ("query plan", 24), ("query label", 23), ("guardian plan", 22)],
)
def test_a_command_has_few_flags_and_shows_all_keys(words: str, at_most: int) -> None:
    ctx, command = Context(get_command(app)), get_command(app)
    for word in words.split():
        command = import_command(command.commands[word], ctx)  # type: ignore[attr-defined]
        ctx = Context(command, parent=ctx)
    flags = [one for one in command.get_params(ctx) if one.param_type_name == "option"]
    assert len(flags) <= at_most
    shown = CliRunner().invoke(app, [*words.split(), "--help-all"])
    assert shown.exit_code == 0
    keys = command.callback.settings_keys  # type: ignore[union-attr]
    assert keys
    assert keys.keys().isdisjoint(one.name for one in flags)
    assert all(f" {name} " in shown.stdout for name in keys)


def test_the_version_is_told() -> None:
    shown = CliRunner().invoke(app, ["--version"])
    assert (shown.exit_code, shown.stdout) == (0, f"ostraka {version('ostraka')}\n")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("guardin",), "guardian"),
        (("guardian", "sesion"), "session"),
        (("guardian", "budget", "shwo"), "show"),
        (("guardian", "budget", "set", "--epsiln", "1"), "--epsilon"),
    ],
)
def test_what_is_misspelt_is_suggested(words: tuple[str, ...], meant: str) -> None:
    refused = CliRunner().invoke(app, list(words))
    assert refused.exit_code == ExitStatus.REFUSED
    assert meant in refused.stderr


def test_only_the_whole_command_installs_a_completion() -> None:
    assert "--install-completion" in CliRunner().invoke(app, ["--help"]).stdout
    for group in ("guardian", "party", "site", "provision", "task"):
        assert "--install-completion" not in CliRunner().invoke(app, [group, "--help"]).stdout


def test_the_page_of_commands_has_every_exit_status() -> None:
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text(encoding="utf-8")
    assert [int(row) for row in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)] == list(ExitStatus)
