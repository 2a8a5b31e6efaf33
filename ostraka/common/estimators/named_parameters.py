"""Parameters of estimators by name, wherever they are nested."""

from typing import Any


def parameters_named(estimator: Any, name: str) -> list[str]:
    """Return the parameters of this name, of the estimator itself and of those inside it."""
    return [key for key in estimator.get_params() if key.rpartition("__")[2] == name]


def seeded(estimator: Any, seed: int) -> Any:
    """Return the estimator with every generator in it seeded."""
    return estimator.set_params(**dict.fromkeys(parameters_named(estimator, "random_state"), seed))
