"""The examples of docs/task.md are tasks."""

import re
import tomllib
from pathlib import Path

import pytest

from ostraka.common.task import Task

PAGE = Path(__file__).parents[3] / "docs" / "task.md"
SHOWN = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
EXAMPLES = [text for text in SHOWN if text.startswith("name")]
"""Whole tasks; the page shows parts as well."""


@pytest.mark.parametrize("text", EXAMPLES, ids=range(len(EXAMPLES)))
def test_an_example_is_a_task(text: str) -> None:
    assert Task.model_validate(tomllib.loads(text)).features


def test_there_are_five() -> None:
    assert len(EXAMPLES) == 5
