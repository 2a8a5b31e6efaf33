"""LightGBM models as text: checked, and rebuilt from what was checked before the library reads it."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.estimators.booster_trees import is_binary_tree, optional

_HEADER = {
    "version",
    "num_class",
    "num_tree_per_iteration",
    "label_index",
    "max_feature_idx",
    "objective",
    "feature_names",
    "feature_infos",
    "tree_sizes",
}
_MAX_LEAVES = 131_072
"""More than LightGBM itself makes."""
_BY_BIT = 0b1110
"""Bits of decision types of thresholds: default side, missing values; the first bit, categories, is off."""
Fields = dict[str, str]


class LightGBMModel:
    """One LightGBM model of two or more classes, safe to use on records with `features` values."""

    def __init__(self, text: str, features: int, classes: int) -> None:
        """Take a model as text; raise ValueError if it is unsound, or for other records or classes."""
        self.text = _check(text, features, classes)
        lightgbm: Any = optional("lightgbm")
        self._booster = lightgbm.Booster(model_str=self.text)

    @classmethod
    def text_of(cls, fitted: Any) -> str:
        """Return a fitted LGBMClassifier as text."""
        return str(fitted.booster_.model_to_string(num_iteration=-1))

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return probabilities: of the second of two classes, (N,), or of each class, (N, classes)."""
        return np.asarray(self._booster.predict(X), np.float64)


def _check(text: str, features: int, classes: int) -> str:
    """Return a model's text rebuilt only from its checked parts."""
    trees, end, _ = text.partition("\nend of trees\n")
    blocks = re.split(r"\n\n+", trees.strip("\n"))
    title, _, lines = blocks[0].partition("\n")
    if title != "tree" or not end:
        raise ValueError("it is not a model of LightGBM")
    header = _fields(lines)
    groups = classes if classes > 2 else 1
    objective = rf"multiclass num_class:{classes}" if classes > 2 else r"binary sigmoid:[0-9.]{1,20}"
    if (
        set(header) != _HEADER
        or header["version"] != "v4"
        or int(header["num_class"]) != groups
        or int(header["num_tree_per_iteration"]) != groups
        or int(header["max_feature_idx"]) != features - 1
        or not re.fullmatch(objective, header["objective"])
        or not blocks[1:]
        or len(blocks[1:]) % groups
    ):
        raise ValueError("it is of other records or classes")
    made = [_tree(number, block, features) for number, block in enumerate(blocks[1:])]
    return _text(header["objective"], groups, features, made)


def _fields(lines: str) -> Fields:
    """Return "key=value" lines by key; raise ValueError for another line, or a repeated key."""
    pairs = [line.partition("=") for line in lines.split("\n")]
    fields = {key: value for key, _, value in pairs}
    if len(fields) != len(pairs) or not all(equals for _, equals, _ in pairs):
        raise ValueError("a line is not a field")
    return fields


def _tree(number: int, block: str, features: int) -> str:
    """Return a tree's text; raise ValueError if one of its paths leaves its nodes or the features."""
    title, _, lines = block.partition("\n")
    fields = _fields(lines)
    leaves = int(fields["num_leaves"])
    if title != f"Tree={number}" or not 1 <= leaves <= _MAX_LEAVES:
        raise ValueError("it is no tree")
    if int(fields["num_cat"]) or int(fields.get("is_linear", "0")):
        raise ValueError("categories and linear leaves are not allowed")
    left, right, feature, kind = (
        _array(fields[name], leaves - 1, np.int64)
        for name in ("left_child", "right_child", "split_feature", "decision_type")
    )
    threshold = _array(fields["threshold"], leaves - 1, np.float64)
    values = _array(fields["leaf_value"], leaves, np.float64)
    known = ((feature >= 0) & (feature < features)).all() and not (kind & ~_BY_BIT).any()
    if not known or not _leads_to_leaves(left, right, leaves):
        raise ValueError("a tree leads outside its own nodes")
    made = {
        "num_leaves": leaves,
        "num_cat": 0,
        "split_feature": _join(feature),
        "threshold": _join(threshold),
        "decision_type": _join(kind),
        "left_child": _join(left),
        "right_child": _join(right),
        "leaf_value": _join(values),
        "is_linear": 0,
        "shrinkage": 1,
    }
    return f"Tree={number}\n" + "".join(f"{name}={value}\n" for name, value in made.items()) + "\n\n"


def _array(text: str, length: int, kind: type[np.number[Any]]) -> NDArray[Any]:
    """Return the numbers of a field; raise ValueError unless there are `length` finite ones."""
    words = text.split()
    values = np.array([int(word) if kind is np.int64 else float(word) for word in words], kind)
    if len(values) != length or not np.isfinite(values).all():
        raise ValueError("an array is of another length, or holds no numbers")
    return values


def _join(values: NDArray[Any]) -> str:
    return " ".join(map(repr, values.tolist()))


def _leads_to_leaves(left: NDArray[np.int64], right: NDArray[np.int64], leaves: int) -> bool:
    """Whether splits and leaves make one tree; a negative child is a leaf, counted from -1 down."""
    splits = leaves - 1
    if not splits:
        return True
    nodes = [np.where(child < 0, splits + ~child, child) for child in (left, right)]
    inside = all(((child >= -leaves) & (child < splits)).all() for child in (left, right))
    padded = [np.concatenate([child, np.zeros(leaves, np.int64)]) for child in nodes]
    return inside and is_binary_tree(padded[0], padded[1], np.arange(splits + leaves) < splits)


def _text(objective: str, groups: int, features: int, trees: list[str]) -> str:
    header = {
        "version": "v4",
        "num_class": groups,
        "num_tree_per_iteration": groups,
        "label_index": 0,
        "max_feature_idx": features - 1,
        "objective": objective,
        "feature_names": " ".join(f"Column_{column}" for column in range(features)),
        "feature_infos": " ".join(["none"] * features),
        "tree_sizes": " ".join(str(len(tree)) for tree in trees),
    }
    lines = "".join(f"{name}={value}\n" for name, value in header.items())
    end = "end of trees\n\nparameters:\n\nend of parameters\n\npandas_categorical:null\n"
    return "tree\n" + lines + "\n" + "".join(trees) + end
