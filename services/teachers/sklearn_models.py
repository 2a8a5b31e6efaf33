"""Built-in models of scikit-learn."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TREES = 50
MAX_ITERATIONS = 1000


def logistic_regression(shape: tuple[int, ...], classes: int) -> Any:
    """Multinomial logistic regression on scaled features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))


def random_forest(shape: tuple[int, ...], classes: int) -> Any:
    """`TREES` trees."""
    return RandomForestClassifier(n_estimators=TREES)


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], Any]] = {
    "logistic_regression": logistic_regression,
    "random_forest": random_forest,
}
