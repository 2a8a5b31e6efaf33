"""Built-in models of scikit-learn, XGBoost and LightGBM."""

from collections.abc import Callable, Mapping
from typing import Any

from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ostraka.common.estimators.installed import optional

TREES = 50
"""Half of scikit-learn's own 100: a party trains and stores a forest for every teacher."""
MAX_ITERATIONS = 1000
"""More than scikit-learn's own 100, at which its solver ends on some slices before it has converged."""
MIN_IN_LEAF = 3
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
    return optional("lightgbm").LGBMClassifier(min_child_samples=MIN_IN_LEAF, verbose=-1)


BUILDERS: Mapping[str, Callable[[tuple[int, ...], int], Any]] = {
    "logistic_regression": logistic_regression,
    "random_forest": random_forest,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}
