"""Trees are so deep and no deeper: libraries walk down by recursion."""

import numpy as np
import pytest

from ostraka.common.estimators.booster_trees import MAX_LEVELS, is_binary_tree


@pytest.mark.parametrize(("levels", "is_tree"), [(1, True), (MAX_LEVELS, True), (MAX_LEVELS + 1, False)])
def test_a_tree_has_so_many_levels_and_no_more(levels: int, is_tree: bool) -> None:
    """The right child of each inner node is the next one, and its left child a leaf."""
    nodes = np.arange(2 * levels + 1)
    inner = nodes % 2 == 0
    inner[-1] = False
    assert is_binary_tree(nodes + 1, nodes + 2, inner) is is_tree
