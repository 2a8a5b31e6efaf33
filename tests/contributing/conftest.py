from collections.abc import Callable

import pytest

from tests.contributing.tree import Tree

Copy = Callable[[str], Tree]


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """Return a function that copies the tree for one row, once for all its cases."""
    return lambda row: Tree.copy(tmp_path_factory.mktemp("row") / "tree", row)
