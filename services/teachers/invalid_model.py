"""Refusal of models that cannot be built or used."""

from ostraka.common.errors import ErrorCode, OstrakaError


def invalid_model(model: str, problem: str) -> OstrakaError:
    """Return the refusal of a model that cannot be built or used."""
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The model {model} {problem}: name a built-in model, or a factory module:function of "
        "(shape, classes) in a module that is installed.",
    )
