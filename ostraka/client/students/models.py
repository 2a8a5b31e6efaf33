"""Student models by name."""

import warnings
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.fitting import fit_label, fit_labels, varies
from ostraka.common.learning.factories import build_model, import_factory, invalid_model, is_factory
from ostraka.common.learning.shape import Shape

ModelKind = Literal["logistic_regression", "mlp"]
KINDS: tuple[str, ...] = get_args(ModelKind)

HIDDEN = (64,)
ITERATIONS = 2000
"""Maximum number of iterations: training ends at convergence, which scikit-learn's default of 100 or 200 may
not reach."""


def train(
    kind: str,
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    *,
    standardize: bool,
    seed: int = 0,
    shape: Shape | None = None,
    classes: int | None = None,
) -> Any:
    """Fit a scikit-learn classifier of class indices, or one for each label.

    Args:
        kind: "logistic_regression", "mlp", or a factory "module:function" of (shape, classes).
        X: prepared features, float32 (N, F).
        y: class indices, int64 (N,); or 1, 0 or UNKNOWN for every label, (N, labels). A label is learned from
            the records where it is known. If these are all equal, it is constant; if there are none, it is 0.
        standardize: whether features have different scales, so the built-in kinds standardize them.
        seed: of the model's initial weights and shuffling.
        shape: of one record, for a factory; None: (F,).
        classes: number of classes or labels, for a factory; None: as in `y`.

    Raises `config.invalid` for an unknown kind, `data.too_few` if all labels are equal, `model.invalid` as
    `own_model` does, and for a factory's estimator that cannot be fitted.
    """
    require_learnable(y)
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if is_factory(kind):
            outputs = classes or (int(y.max()) + 1 if y.ndim == 1 else y.shape[1])
            return _fit_own(kind, own_model(kind, shape or X.shape[1:], outputs, seed), X, y)
        return _fit(_make_model(kind, standardize, seed), X, y)


def own_model(name: str, shape: Shape, classes: int, seed: int = 0) -> Any:
    """Return the untrained estimator of a factory "module:function", its generators seeded.

    Raises `model.invalid` if the factory is missing or fails, or does not return an estimator of
    docs/teachers.md that predicts probabilities.
    """
    from ostraka.common.estimators.allowed import require_allowed
    from ostraka.common.estimators.fitting import seed_estimator

    model = build_model(name, import_factory(name), shape, classes)
    require_allowed(model, name)
    if not hasattr(model, "predict_proba"):
        raise invalid_model(name, "tells no probabilities (predict_proba), which students need")
    return seed_estimator(model, seed)


def _fit_own(name: str, model: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> Any:
    """Fit a factory's estimator; errors name the factory."""
    try:
        return _fit(model, X, y)
    except Exception as exc:
        raise invalid_model(name, f"cannot be trained ({type(exc).__name__}: {exc})") from exc


def _fit(model: Any, X: NDArray[np.float32], y: NDArray[np.int64]) -> Any:
    return model.fit(X, y) if y.ndim == 1 else fit_labels(model, X, y)


def is_learnable(y: NDArray[np.int64]) -> bool:
    """Whether labels `y`, as `train` takes them, have two classes, or any label with both known values."""
    return any(varies(column) for column in np.atleast_2d(y.T))


def require_learnable(y: NDArray[np.int64]) -> None:
    """Raise `data.too_few` if labels `y` are all equal."""
    if not is_learnable(y):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            "A student needs labelled records of at least two classes, or with and without a label: "
            "label some of another class.",
        )


def train_constant(X: NDArray[np.float32], y: NDArray[np.int64]) -> Any:
    """Return a model that predicts the single value of all labels; `X` and `y` are as for `train`."""
    return fit_label(None, X, y) if y.ndim == 1 else fit_labels(None, X, y)


def probabilities(student: Any, X: NDArray[np.float32], classes: int) -> NDArray[np.float64]:
    """Return probabilities (N, classes) of each class or label; 0 for a class that was never learned.

    The student is any estimator of prepared features (N, F) whose classes, or labels, are indices.
    """
    from sklearn.multioutput import MultiOutputClassifier

    if isinstance(student, MultiOutputClassifier):
        return np.stack([_probability(model, X) for model in student.estimators_], axis=1)
    given = np.asarray(student.predict_proba(X), np.float64)
    every = np.zeros((len(X), classes))
    every[:, np.asarray(student.classes_, np.int64)] = given
    return every


def _probability(model: Any, X: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the probability of 1 by a model of one label, (N,)."""
    probabilities = np.asarray(model.predict_proba(X), np.float64)
    positive: NDArray[np.float64] = probabilities[:, model.classes_ == 1].sum(axis=1)
    return positive


def _make_model(kind: str, standardize: bool, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    match kind:
        case "logistic_regression":
            model: Any = LogisticRegression(C=10.0, max_iter=ITERATIONS)
        case "mlp":
            model = MLPClassifier(HIDDEN, max_iter=ITERATIONS, random_state=seed)
        case _:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"There is no student model {kind}: choose one of {', '.join(KINDS)}, or a module:factory.",
            )
    return make_pipeline(StandardScaler(), model) if standardize else model
