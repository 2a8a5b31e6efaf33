"""Libraries that are installed on request."""

import importlib
from types import ModuleType

from ostraka.common.errors import ErrorCode, OstrakaError


def optional(name: str) -> ModuleType:
    """Return a library of the extra `boosting`; raise `model.invalid` where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError as exc:
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"These models need {name}: install it with pip install 'ostraka[boosting]'.",
        ) from exc
