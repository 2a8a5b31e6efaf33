"""Student models by name."""

import warnings
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError

ModelKind = Literal["logistic_regression", "mlp"]
KINDS: tuple[str, ...] = get_args(ModelKind)

HIDDEN = (64,)
ITERATIONS = 2000


def train(
    kind: str, X: NDArray[np.float32], y: NDArray[np.int64], *, standardize: bool, seed: int = 0
) -> Any:
    """A fitted scikit-learn classifier of class indices.

    Args:
        kind: "logistic_regression" or "mlp".
        X: prepared features, float32 (N, F).
        y: class indices, int64 (N,).
        standardize: whether features come on scales of their own and are standardized first.
        seed: of the model's initial weights and shuffling.

    Raises `config.invalid` for an unknown kind, `data.too_few` where fewer than two classes are labelled.
    """
    if len(np.unique(y)) < 2:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            "A student needs labelled records of at least two classes: label some of another class.",
        )
    from sklearn.exceptions import ConvergenceWarning

    model = _untrained(kind, standardize, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def _untrained(kind: str, standardize: bool, seed: int) -> Any:
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
                f"There is no student model {kind}: choose one of {', '.join(KINDS)}.",
            )
    return make_pipeline(StandardScaler(), model) if standardize else model
