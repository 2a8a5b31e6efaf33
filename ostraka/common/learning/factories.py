"""A site's own models, named as "module:function": a function of (shape of a record, classes)."""

import importlib
import re
from collections.abc import Callable
from traceback import walk_tb
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError, printable, shorten

Factory = Callable[[tuple[int, ...], int], Any]
_asked: dict[str, Factory] = {}
"""Functions that this process was asked to import, by name."""
_MAX_CHARACTERS = 200
"""Maximum characters of torch's error message: enough for its shapes, but not a page of a log."""
_NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def is_factory(name: str) -> bool:
    """Whether a name has the form "module:function"."""
    return _NAME.fullmatch(name) is not None


def import_factory(name: str) -> Factory:
    """Return the function that "module:function" names; raise `model.invalid` if there is none."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (Exception, SystemExit) as exc:
        raise invalid_model(name, f"cannot be imported ({type(exc).__name__})") from exc
    if not callable(found):
        raise invalid_model(name, "is no function")
    _asked[name] = found
    return _asked[name]


def is_asked(name: str) -> bool:
    """Whether the user named the function; a file that names another function must not run it."""
    return name in _asked


def factory_of(name: str) -> Factory:
    """Return a function that was imported before; raise `model.invalid` for any other name."""
    if name not in _asked:
        raise invalid_model(name, "was not imported")
    return _asked[name]


def build_model(name: str, factory: Factory, shape: tuple[int, ...], classes: int) -> Any:
    """Return an untrained model: a torch module of (Q, *shape) to logits (Q, classes), or an estimator.

    Raises:
        OstrakaError: `model.invalid` if the factory fails, or returns something else.
    """
    try:
        built = factory(shape, classes)
    except OstrakaError:
        raise
    except (Exception, SystemExit) as exc:
        raise invalid_model(name, f"failed for records of shape {shape} ({type(exc).__name__})") from exc
    if not (hasattr(built, "state_dict") or (hasattr(built, "fit") and hasattr(built, "predict"))):
        raise invalid_model(name, "gave neither a torch module nor a scikit-learn estimator")
    return built


def words_of(error: BaseException) -> str:
    """Return an error's type, and its message if it is torch's; other code's messages may reveal records."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in walk_tb(error.__traceback__)]
    if not frames or not frames[-1].startswith("torch."):
        return type(error).__name__
    return f"{type(error).__name__}: {shorten(printable(str(error).rstrip('.')), _MAX_CHARACTERS)}"


def invalid_model(model: str, problem: str) -> OstrakaError:
    """Return the error for a model that cannot be built or used."""
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The model {model} {problem}: name a built-in model, or a factory module:function of "
        "(shape, classes) in a module that is installed.",
    )
