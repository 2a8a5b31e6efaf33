"""Safety checks of estimators read from files, wherever they are nested.

A file of known types alone can still lead compiled code out of its arrays. What predicts in Python and NumPy
checks its own indices; what does not has a check here.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC, NuSVC
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from sklearn.tree._tree import Tree

from ostraka.common.estimators.sound_encoding import is_sound_function, is_sound_one_hot
from ostraka.common.estimators.sound_trees import (
    is_sound_boosting,
    is_sound_histogram_boosting,
    is_sound_tree,
)
from ostraka.common.estimators.sound_vectors import is_sound_svm

_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
_WORDS = 624
"""Length of the Mersenne Twister's state, which it indexes unchecked."""


def _is_sound_random_state(state: Any) -> bool:
    content = state.get_state(legacy=False)
    return bool(content["bit_generator"] == "MT19937" and 0 <= content["state"]["pos"] <= _WORDS)


def _is_sound_generator(generator: Any) -> bool:
    """Whether it draws from the only kind of bits that estimators use, which has no index."""
    return type(generator.bit_generator) is np.random.PCG64


CHECKS: Mapping[type, Callable[[Any], bool]] = {
    **dict.fromkeys(_TREES, is_sound_tree),
    Tree: lambda tree: False,  # alone it would be asked without anybody counting a record's features
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
"""What an estimator fails without, in Python: those that others were made from were never fitted."""


def is_sound(model: Any) -> bool:
    """Whether nothing inside a fitted estimator can lead its predictions out of its own arrays.

    What an estimator holds is checked before itself, so that a check may rely on its parts. Raises what a
    check runs into where attributes are missing or of another type.
    """
    return all(_is_sound(part) for part in reversed(list(_parts(model))))


def _is_sound(part: Any) -> bool:
    """Whether a part passes its type's check, and no attribute of its own stands in for one of its class."""
    kind = type(part)
    if any(hasattr(kind, name) for name in getattr(part, "__dict__", ())):
        return False
    if kind in _FITTED and not hasattr(part, _FITTED[kind]):
        return True
    check = CHECKS.get(kind)
    return check is None or check(part)


def _parts(model: Any) -> Iterator[Any]:
    """Yield the model and everything that it holds, each once, holders before what they hold."""
    waiting, seen = [model], dict[int, Any]()
    while waiting:
        part = waiting.pop()
        if id(part) in seen or isinstance(part, type):
            continue
        seen[id(part)] = part
        yield part
        waiting += _held(part)


def _held(part: Any) -> list[Any]:
    """Return what a part holds; a tree's nodes are its estimator's to check."""
    if isinstance(part, dict):
        return [*part.values()]
    if isinstance(part, list | tuple):
        return [*part]
    if isinstance(part, np.ndarray):
        return [*part.ravel()] if part.dtype == object else []
    attributes = getattr(part, "__dict__", {})
    return [value for name, value in attributes.items() if not (name == "tree_" and type(part) in _TREES)]
