"""The model of 003's teachers and students on Adult."""

from typing import Any

from sklearn.ensemble import RandomForestClassifier

TREES = 100


def forest(shape: tuple[int, ...], classes: int) -> Any:
    """A random forest of `TREES` trees, else as scikit-learn sets it."""
    return RandomForestClassifier(n_estimators=TREES)
