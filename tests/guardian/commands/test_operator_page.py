"""docs/operator.md names every command and every key of a policy."""

import json
import re
from pathlib import Path

import pytest
from typer.main import get_command

from ostraka.guardian.cli import app
from ostraka.guardian.policy import Policy

PAGE = (Path(__file__).parents[3] / "docs" / "operator.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", PAGE, re.MULTILINE))
COMMANDS = getattr(get_command(app), "commands")  # noqa: B009
GROUPS = {name: sorted(group.commands) for name, group in COMMANDS.items() if hasattr(group, "commands")}


def test_every_key_of_a_policy_is_there_with_its_default() -> None:
    assert list(ROWS) == list(Policy.model_fields)
    for key, default in Policy().model_dump(mode="json").items():
        said = ROWS[key].strip("`")
        if default not in (None, {}):
            assert json.loads(said) == default, key
        else:
            assert said.replace("`", "") in {"none", "all", "votes, joint training"}, key


@pytest.mark.parametrize("group", GROUPS)
def test_every_command_of_a_group_is_in_the_table(group: str) -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith(f"| `{group} ")]
    assert rows
    for command in GROUPS[group]:
        assert any(re.search(rf"\b{command}\b", row) for row in rows), command
