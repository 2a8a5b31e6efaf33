"""Trees: scikit-learn follows their node indices without checking them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree import DecisionTreeRegressor
from sklearn.tree._tree import Tree


def is_sound_tree(model: Any) -> bool:
    """Whether no path of a decision tree leaves its own nodes or the features that it asks for."""
    tree, features = model.tree_, model.n_features_in_
    if type(tree) is not Tree or type(features) is not int or not 0 < tree.node_count <= tree.capacity:
        return False
    if tree.value.size == 0:
        return False
    left, right = tree.children_left, tree.children_right
    return _leads_to_leaves((left == -1) & (right == -1), left, right, tree.feature, features)


def is_sound_boosting(model: Any) -> bool:
    """Whether gradient boosting adds up sound trees of its own features into as many columns as it has.

    Its trees, each checked by itself before, are asked together, past the checks that they make of a record.
    """
    stages, first = model.estimators_, model.init_
    if not (isinstance(first, str) and first == "zero") and not _is_prior(first):
        return False
    trees = list(stages.ravel())
    whole = stages.ndim == 2 and len(trees) > 0 and model.n_features_in_ == trees[0].n_features_in_
    if not whole or not all(_is_stage(tree, model.n_features_in_) for tree in trees):
        return False
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))
    return bool(start.shape == (1, stages.shape[1]))


def _is_prior(first: Any) -> bool:
    """Whether boosting begins at the shares of the classes, which have as many columns for any record."""
    return type(first) is DummyClassifier and first.strategy == "prior" and first._strategy == "prior"


def _is_stage(tree: Any, features: int) -> bool:
    return (
        type(tree) is DecisionTreeRegressor
        and tree.n_features_in_ == features
        and tree.tree_.value.shape[1:] == (1, 1)
    )


def is_sound_histogram_boosting(model: Any) -> bool:
    """Whether no tree of histogram boosting leaves its nodes or features; categories are not allowed."""
    features = model.n_features_in_
    predictors = [predictor for iteration in model._predictors for predictor in iteration]
    return (
        type(features) is int
        and model._preprocessor is None
        and not hasattr(model, "_in_fit")
        and not np.any(model._bin_mapper.is_categorical_)
        and all(_is_predictor(predictor, features) for predictor in predictors)
    )


def _is_predictor(predictor: Any, features: int) -> bool:
    if type(predictor) is not TreePredictor:
        return False
    nodes = predictor.nodes
    if nodes.dtype != PREDICTOR_RECORD_DTYPE or nodes.ndim != 1 or len(nodes) == 0:
        return False
    left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
    numeric = not nodes["is_categorical"].any()
    return numeric and _leads_to_leaves(nodes["is_leaf"] != 0, left, right, nodes["feature_idx"], features)


def _leads_to_leaves(
    leaf: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], features: int
) -> bool:
    """Children come after their parent, so every path ends; a leaf has none."""
    nodes = np.arange(len(leaf))
    inner = (left > nodes) & (left < len(leaf)) & (right > nodes) & (right < len(leaf))
    known = (feature >= 0) & (feature < features)
    return bool((leaf | (inner & known)).all())
