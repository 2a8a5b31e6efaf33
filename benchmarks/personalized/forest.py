"""The model of 003's teachers and students on Adult."""

from typing import Any

from sklearn.ensemble import RandomForestClassifier

TREES = 100


def forest(shape: tuple[int, ...], classes: int) -> Any:
    """Return a random forest of `TREES` trees, with scikit-learn's defaults otherwise."""
    return RandomForestClassifier(n_estimators=TREES)
