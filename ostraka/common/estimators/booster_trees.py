"""Support for models of XGBoost and LightGBM: their libraries, and a check of trees that they trust."""

import importlib
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError


def optional(name: str) -> ModuleType:
    """Return a library of the extra `boosting`; raise `model.invalid` if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"These models need {name}: install it with pip install 'ostraka[boosting]'.",
        ) from exc


MAX_LEVELS = 1000
"""Maximum levels of a tree, because the libraries walk it by recursion."""


def is_binary_tree(left: NDArray[np.int64], right: NDArray[np.int64], inner: NDArray[np.bool_]) -> bool:
    """Whether nodes make one tree near the root: children come after their parent, and have only one.

    Args:
        left: left child of each node, int64 (N,); the values of leaves are ignored.
        right: right child of each node, likewise.
        inner: which nodes have children, (N,).
    """
    parents = np.flatnonzero(inner)
    children = np.concatenate([left[parents], right[parents]])
    later = (children > np.tile(parents, 2)) & (children < len(inner))
    if not later.all() or len(np.unique(children)) < len(children):
        return False
    depth = np.zeros(len(inner), np.int64)
    for parent in parents:
        depth[[left[parent], right[parent]]] = depth[parent] + 1
    return bool(depth.max(initial=0) <= MAX_LEVELS)
