"""Estimators of scikit-learn that may be trained and stored: the list in docs/teachers.md."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    PassiveAggressiveClassifier,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC, NuSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from ostraka.common.errors import ErrorCode, OstrakaError

TREES = (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier, ExtraTreeClassifier)
BOOSTING = (HistGradientBoostingClassifier, GradientBoostingClassifier, AdaBoostClassifier)
LINEAR = (
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
    Perceptron,
    PassiveAggressiveClassifier,
    LinearSVC,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
OTHERS = (
    SVC,
    NuSVC,
    MLPClassifier,
    GaussianNB,
    BernoulliNB,
    MultinomialNB,
    ComplementNB,
    CategoricalNB,
    DummyClassifier,
)
AROUND = (
    Pipeline,
    ColumnTransformer,
    FeatureUnion,
    OneVsRestClassifier,
    OneVsOneClassifier,
    MultiOutputClassifier,
    BaggingClassifier,
    VotingClassifier,
)
"""Estimators that contain others."""
TRANSFORMERS = (
    StandardScaler,
    MinMaxScaler,
    MaxAbsScaler,
    RobustScaler,
    Normalizer,
    Binarizer,
    PowerTransformer,
    QuantileTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    SimpleImputer,
    MissingIndicator,
    PCA,
    TruncatedSVD,
    VarianceThreshold,
    FunctionTransformer,
)
ALLOWED: frozenset[type] = frozenset(TREES + BOOSTING + LINEAR + OTHERS + AROUND + TRANSFORMERS)

_KERNELS = ("linear", "poly", "rbf", "sigmoid")
SETTINGS: Mapping[type, Mapping[str, tuple[Any, ...]]] = {
    SVC: {"kernel": _KERNELS},
    NuSVC: {"kernel": _KERNELS},
    HistGradientBoostingClassifier: {"categorical_features": (None, "from_dtype"), "scoring": ("loss", None)},
    GradientBoostingClassifier: {"init": (None, "zero")},
    OneHotEncoder: {"drop": (None,), "min_frequency": (None,), "max_categories": (None,)},
    FunctionTransformer: {"func": (None,), "inverse_func": (None,)},
}
"""Allowed values of parameters; other values make estimators that cannot be stored or checked."""
_PLAIN = (str, int, float, slice, np.ndarray, np.generic, np.random.RandomState, type(None))


def require_allowed(estimator: Any, model: str) -> None:
    """Refuse an estimator that is not allowed, or contains one that is not, before it is trained.

    Args:
        estimator: before or after `fit`; its parameters are checked, and those of all estimators in them.
        model: its name, for the message.

    Raises:
        OstrakaError: `model.invalid`, naming the class or the parameter that is not allowed.
    """
    for holder, name, value in _parameters(estimator):
        problem = _problem(holder, name, value)
        if problem is not None:
            raise OstrakaError(
                ErrorCode.MODEL_INVALID,
                f"The model {model} {problem}: docs/teachers.md lists the estimators that are.",
            )


def _parameters(estimator: Any) -> Iterator[tuple[type | None, str, Any]]:
    """Yield the estimator, and every parameter value in it, as (holder, parameter, value)."""
    waiting: list[tuple[type | None, str, Any]] = [(None, "", estimator)]
    while waiting:
        holder, name, value = waiting.pop()
        if isinstance(value, list | tuple):
            waiting += [(None, name, each) for each in value]
        elif isinstance(value, dict):
            waiting += [(None, name, each) for each in value.values()]
        elif hasattr(value, "get_params") and not isinstance(value, type) and type(value) in ALLOWED:
            waiting += [(type(value), key, each) for key, each in value.get_params(deep=False).items()]
        yield holder, name, value


def _problem(holder: type | None, name: str, value: Any) -> str | None:
    """Return why a parameter's value is not allowed, or None if it is."""
    given = SETTINGS.get(holder, {}).get(name) if holder else None
    if given is not None and not any(value is each or value == each for each in given):
        shown = value if isinstance(value, str) else type(value).__name__
        return f"sets {name} of {holder.__name__} to {shown}, which is not allowed"  # type: ignore[union-attr]
    if type(value) in ALLOWED or isinstance(value, (*_PLAIN, list, tuple, dict)):
        return None
    if isinstance(value, type) and issubclass(value, (np.generic, int, float, str)):
        return None
    return f"holds {_name_of(value)}, which is not allowed"


def _name_of(value: Any) -> str:
    """Return the name of a function, or of a value's class."""
    kind = value if callable(value) and hasattr(value, "__qualname__") else type(value)
    name = f"{kind.__module__}.{kind.__qualname__}"
    return f"the class {name} in place of an instance" if isinstance(value, type) else name
