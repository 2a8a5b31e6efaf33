from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contributing.tree import Tree

Copy = Callable[[str], Tree]


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    """Return a function that copies the tree for one row."""
    return lambda row: Tree.copy(tmp_path / "tree", row)
