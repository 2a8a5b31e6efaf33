"""Models by name: built-in, or from a factory that the party's configuration names."""

from typing import Any

from ostraka.common.learning.factories import Factory, build_model, import_factory, invalid_model
from ostraka.services.teachers.config import ESTIMATORS, NETWORKS, is_file


def find_factory(model: str) -> Factory:
    """Return the function of (shape of one record, classes) that builds an untrained model.

    Raises:
        OstrakaError: `model.invalid` if the module cannot be imported or has no such function.
    """
    if model in NETWORKS:
        from ostraka.services.teachers import networks

        return networks.BUILDERS[model]
    if model in ESTIMATORS:
        from ostraka.services.teachers import estimators

        return estimators.BUILDERS[model]
    if is_file(model):
        raise invalid_model(model, "is hosted as it is, not trained")
    return import_factory(model)


def build(model: str, shape: tuple[int, ...], classes: int) -> Any:
    """Build one untrained model: a torch module of (Q, *shape) to logits (Q, classes), or an estimator.

    Raises:
        OstrakaError: `model.invalid` if the factory is missing, fails, or returns something else.
    """
    return build_model(model, find_factory(model), shape, classes)
