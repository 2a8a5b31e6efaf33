"""The model of teachers and students on Adult in Mühl and Boenisch 2022."""

from typing import Any

from sklearn.ensemble import RandomForestClassifier

TREES = 100  # scikit-learn's default


def forest(shape: tuple[int, ...], classes: int) -> Any:
    """Return a random forest of `TREES` trees, with scikit-learn's defaults otherwise."""
    return RandomForestClassifier(n_estimators=TREES)
