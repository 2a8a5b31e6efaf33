"""Built-in models of scikit-learn, XGBoost and LightGBM."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ostraka.common.estimators.booster_trees import optional

TREES = 50
MAX_ITERATIONS = 1000
LEAST_IN_LEAF = 3
"""Records; LightGBM's own 20 are a large part of a slice."""


def logistic_regression(shape: tuple[int, ...], classes: int) -> Any:
    """Multinomial logistic regression on scaled features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=MAX_ITERATIONS))


def random_forest(shape: tuple[int, ...], classes: int) -> Any:
    """`TREES` trees."""
    return RandomForestClassifier(n_estimators=TREES)


def xgboost(shape: tuple[int, ...], classes: int) -> Any:
    """XGBoost's classifier with its own defaults."""
    return optional("xgboost").XGBClassifier()


def lightgbm(shape: tuple[int, ...], classes: int) -> Any:
    """LightGBM's classifier with its own defaults, but smaller leaves: slices are small."""
    return optional("lightgbm").LGBMClassifier(min_child_samples=LEAST_IN_LEAF, verbose=-1)


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], Any]] = {
    "logistic_regression": logistic_regression,
    "random_forest": random_forest,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}
