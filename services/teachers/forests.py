"""Safety checks of random forests read from files."""

from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

TREE = "sklearn.tree._tree.Tree"
"""What skops does not trust by itself: scikit-learn follows a tree's node indices without checking them."""


def is_sound(model: Any, features: float) -> bool:
    """Whether no tree of a stored forest can lead a query of `features` values outside its own nodes."""
    if type(model) is not RandomForestClassifier:
        return True
    return all(
        type(part) is DecisionTreeClassifier and _leads_to_leaves(part.tree_, features)
        for part in model.estimators_
    )


def _leads_to_leaves(tree: Any, features: float) -> bool:
    """Children come after their parent, so every path ends; a leaf has none."""
    if not 0 < tree.node_count <= tree.capacity:
        return False
    nodes = np.arange(tree.node_count)
    left, right = tree.children_left, tree.children_right
    leaf = (left == -1) & (right == -1)
    inner = (left > nodes) & (left < tree.node_count) & (right > nodes) & (right < tree.node_count)
    known = (tree.feature >= 0) & (tree.feature < features)
    return bool((leaf | (inner & known)).all())
