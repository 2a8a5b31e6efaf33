"""Safety checks of estimators read from files, wherever they are nested.

Even a file with only known types can make compiled code read outside its arrays. Code that predicts in Python
and NumPy checks its own indices; everything else has a check here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC, NuSVC
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.tree._tree import Tree

from ostraka.common.estimators.allowed import SETTINGS


def is_sound_one_hot(encoder: Any) -> bool:
    """Whether every category has a column: categories ascend, and none is dropped or grouped."""
    categories = encoder.categories_
    return bool(
        encoder.drop_idx_ is None
        and encoder._drop_idx_after_grouping is None
        and encoder._infrequent_enabled is False
        and len(categories) == encoder.n_features_in_
        and list(encoder._n_features_outs) == [len(values) for values in categories]
        and all(map(_rises, categories))
    )


def _rises(values: NDArray[Any]) -> bool:
    """Whether numbers ascend strictly; the last value may be NaN."""
    if values.ndim != 1 or len(values) == 0 or values.dtype.kind not in "biuf":
        return False
    numbers = values[:-1] if np.isnan(values[-1]) else values
    return bool((numbers[:-1] < numbers[1:]).all() and not np.isnan(numbers).any())


def is_sound_function(transformer: Any) -> bool:
    """Whether a function transformer calls nothing, as for a passed-through column."""
    return transformer.func is None and transformer.inverse_func is None


def is_sound_tree(model: Any) -> bool:
    """Whether no path of a decision tree leaves its own nodes or its features."""
    tree = model.tree_
    features = model.n_features_in_
    if type(tree) is not Tree or type(features) is not int or not 0 < tree.node_count <= tree.capacity:
        return False
    if tree.value.size == 0:
        return False
    left = tree.children_left
    right = tree.children_right
    return _leads_to_leaves((left == -1) & (right == -1), left, right, tree.feature, features)


def is_sound_boosting(model: Any) -> bool:
    """Whether gradient boosting adds sound trees of its own features into as many columns as it has.

    Its trees, already checked one by one, are evaluated together, bypassing their own checks of a record.
    """
    stages = model.estimators_
    first = model.init_
    if not (isinstance(first, str) and first == "zero") and not _is_prior(first):
        return False
    trees = list(stages.ravel())
    whole = stages.ndim == 2 and len(trees) > 0 and model.n_features_in_ == trees[0].n_features_in_
    if not whole or not all(_is_stage(tree, model.n_features_in_) for tree in trees):
        return False
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), np.float32))
    return bool(start.shape == (1, stages.shape[1]))


def _is_prior(first: Any) -> bool:
    """Whether boosting begins at the shares of the classes, which have the same columns for any record."""
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
    left = nodes["left"].astype(np.int64)
    right = nodes["right"].astype(np.int64)
    numeric = not nodes["is_categorical"].any()
    return numeric and _leads_to_leaves(nodes["is_leaf"] != 0, left, right, nodes["feature_idx"], features)


def _leads_to_leaves(
    leaf: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], feature: NDArray[Any], features: int
) -> bool:
    """Whether children come after their parent, so that every path ends; leaves have none."""
    nodes = np.arange(len(leaf))
    inner = (left > nodes) & (left < len(leaf)) & (right > nodes) & (right < len(leaf))
    known = (feature >= 0) & (feature < features)
    return bool((leaf | (inner & known)).all())


def is_sound_svm(model: Any) -> bool:
    """Whether the arrays of a fitted SVC or NuSVC have the lengths that libsvm reads."""
    vectors = model.support_vectors_
    counts = model._n_support
    classes = len(model.classes_)
    pairs = (classes * (classes - 1) // 2,)
    probabilities = model._probA.shape
    return bool(
        model._sparse is False
        and model.kernel in SETTINGS[type(model)]["kernel"]
        and classes > 1
        and vectors.shape == (len(model.support_), model.n_features_in_)
        and len(vectors) > 0
        and counts.shape == (classes,)
        and (counts >= 0).all()
        and counts.sum() == len(vectors)
        and model._dual_coef_.shape == (classes - 1, len(vectors))
        and model._intercept_.shape == pairs
        and probabilities in ((0,), pairs)
        and model._probB.shape == probabilities
    )


_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
_WORDS = 624
"""Length of the Mersenne Twister's state, which it indexes without a check."""


def _is_sound_random_state(state: Any) -> bool:
    content = state.get_state(legacy=False)
    return bool(content["bit_generator"] == "MT19937" and 0 <= content["state"]["pos"] <= _WORDS)


def _is_sound_generator(generator: Any) -> bool:
    """Whether it uses the only bit generator of estimators, which has no index."""
    return type(generator.bit_generator) is np.random.PCG64


CHECKS: Mapping[type, Callable[[Any], bool]] = {
    **dict.fromkeys(_TREES, is_sound_tree),
    Tree: lambda tree: False,  # on its own, nothing would check the number of a record's features
    GradientBoostingClassifier: is_sound_boosting,
    HistGradientBoostingClassifier: is_sound_histogram_boosting,
    SVC: is_sound_svm,
    NuSVC: is_sound_svm,
    OneHotEncoder: is_sound_one_hot,
    FunctionTransformer: is_sound_function,
    np.random.RandomState: _is_sound_random_state,
    np.random.Generator: _is_sound_generator,
}
_FITTED: Mapping[type, str] = {
    **dict.fromkeys(_TREES, "tree_"),
    GradientBoostingClassifier: "estimators_",
    HistGradientBoostingClassifier: "_predictors",
    SVC: "support_vectors_",
    NuSVC: "support_vectors_",
    OneHotEncoder: "categories_",
}
"""Attributes without which an estimator fails in Python; templates of other estimators were never fitted."""


def is_sound(model: Any) -> bool:
    """Whether nothing inside a fitted estimator can make its predictions read outside its own arrays.

    The parts of an estimator are checked before the estimator, so that its check may rely on them. Raises
    whatever a check encounters if attributes are missing or have another type.
    """
    return all(_is_sound(part) for part in reversed(list(_parts(model))))


def _is_sound(part: Any) -> bool:
    """Whether a part passes its type's check, and none of its own attributes hides one of its class."""
    kind = type(part)
    if any(hasattr(kind, name) for name in getattr(part, "__dict__", ())):
        return False
    if kind in _FITTED and not hasattr(part, _FITTED[kind]):
        return True
    check = CHECKS.get(kind)
    return check is None or check(part)


def _parts(model: Any) -> Iterator[Any]:
    """Yield the model and everything in it, each once, containers before their contents."""
    waiting = [model]
    seen = dict[int, Any]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        yield part
        waiting += _contents(part)


def _contents(part: Any) -> list[Any]:
    """Return the contents of a part; a tree's nodes are checked by its estimator."""
    if isinstance(part, dict):
        return [*part.values()]
    if isinstance(part, list | tuple):
        return [*part]
    if isinstance(part, np.ndarray):
        return [*part.ravel()] if part.dtype == object else []
    attributes = getattr(part, "__dict__", {})
    return [value for name, value in attributes.items() if not (name == "tree_" and type(part) in _TREES)]
