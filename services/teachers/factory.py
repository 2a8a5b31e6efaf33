"""Models by name: built-in, or from a factory that the party's configuration names."""

import importlib
from collections.abc import Callable
from typing import Any

from ostraka.common.errors import OstrakaError
from ostraka.services.teachers.config import ESTIMATORS, NETWORKS, is_file
from ostraka.services.teachers.invalid_model import invalid_model

Factory = Callable[[tuple[int, ...], int], Any]


def find_factory(model: str) -> Factory:
    """Return the function of (shape of one record, classes) that builds an untrained model.

    Raises:
        OstrakaError: `model.invalid` where the module cannot be imported or has no such function.
    """
    if model in NETWORKS:
        from ostraka.services.teachers import networks

        return networks.BUILDERS[model]
    if model in ESTIMATORS:
        from ostraka.services.teachers import sklearn_models

        return sklearn_models.BUILDERS[model]
    if is_file(model):
        raise invalid_model(model, "is hosted as it is, not trained")
    module, _, function = model.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as exc:
        raise invalid_model(model, f"cannot be imported ({type(exc).__name__})") from exc
    if not callable(found):
        raise invalid_model(model, "is no function")
    return found  # type: ignore[no-any-return]


def build(model: str, shape: tuple[int, ...], classes: int) -> Any:
    """One untrained model: a torch module of (Q, *shape) to logits (Q, classes), or an estimator.

    Raises:
        OstrakaError: `model.invalid` where the factory is missing, fails, or gives something else.
    """
    factory = find_factory(model)
    try:
        built = factory(shape, classes)
    except OstrakaError:
        raise
    except (Exception, SystemExit) as exc:
        raise invalid_model(model, f"failed for records of shape {shape} ({type(exc).__name__})") from exc
    if not (hasattr(built, "state_dict") or (hasattr(built, "fit") and hasattr(built, "predict"))):
        raise invalid_model(model, "gave neither a torch module nor a scikit-learn estimator")
    return built
