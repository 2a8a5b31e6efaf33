"""The page of commands, and that what other pages tell people to type is a command."""

import re
import shlex
from collections.abc import Iterator

import pytest

from ostraka.deploy.images.locks import ROOT
from ostraka.deploy.reference.command_page import page

pytestmark = pytest.mark.heavy

OPTION = re.compile(r"--[a-z][a-z0-9-]*")


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Options of every command, as the page has them."""
    sections = re.split(r"^#+ `(ostraka.*)`$", page(), flags=re.MULTILINE)[1:]
    pairs = zip(sections[::2], sections[1::2], strict=True)
    return {
        name: {
            option
            for row in re.findall(r"^\| `(.+?)` \|", text, re.MULTILINE)
            for option in OPTION.findall(row)
        }
        for name, text in pairs
    }


def told() -> Iterator[tuple[str, str]]:
    """Yield commands between backticks, and the pages that have them."""
    for path in [*(ROOT / "docs" / "roles").glob("*.md"), ROOT / "docs" / "choosing.md"]:
        for command in re.findall(r"`(ostraka [^`]+)`", path.read_text()):
            yield path.name, command


def test_groups_of_all_roles_are_there(commands: dict[str, set[str]]) -> None:
    assert "--mechanism" in commands["ostraka query label"]
    assert "--epsilon" in commands["ostraka guardian budget set"]
    assert {"ostraka party serve", "ostraka simulate", "ostraka site init", "ostraka lead"} <= commands.keys()


def test_keys_of_settings_files_are_there() -> None:
    learn = page().partition("### `ostraka query learn`")[2].partition("### ")[0]
    assert "| `ballots` |" in learn
    assert "--ballots" not in learn


def test_what_roles_are_told_to_type_are_commands(commands: dict[str, set[str]]) -> None:
    found = list(told())
    assert len(found) > 30
    for page_name, line in found:
        words = shlex.split(line.replace("...", ""))
        name = max((name for name in commands if line.startswith(name)), key=len)
        assert len(name.split()) > 1, (page_name, line)
        unknown = {word for word in words if OPTION.fullmatch(word)} - commands[name]
        assert unknown == set(), (page_name, line)
