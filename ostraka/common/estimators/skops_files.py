"""Fitted estimators of scikit-learn as skops files: written, and read where every type and index is known."""

import json
import zipfile
from io import BytesIO
from typing import Any

import skops.io

from ostraka.common.estimators.allowed import ALLOWED
from ostraka.common.estimators.skops_schema import TRUSTED, unknown_type
from ostraka.common.estimators.soundness import is_sound
from ostraka.common.files.archives import check_zip

_DAMAGE = (
    OSError,
    zipfile.BadZipFile,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    MemoryError,
    RecursionError,
    OverflowError,
    ArithmeticError,
    ImportError,
    NotImplementedError,
)
"""What skops, NumPy and the checks raise for files that are not whole."""


class UnknownTypeError(ValueError):
    """A file, or an estimator to be written, holds a type that is not on the list."""


class DamagedModelError(ValueError):
    """A file holds no estimator, or one that would read outside its own arrays."""


def dumps(model: Any) -> bytes:
    """Return a fitted estimator as a skops file; raise UnknownTypeError where `loads` would refuse it."""
    content = bytes(skops.io.dumps(model))
    _require_known(content)
    return content


def loads(content: bytes, features: int | None = None) -> Any:
    """Return the estimator of a skops file, safe to ask about records of `features` values.

    Raises:
        UnknownTypeError: where it names a type that is not on the list; nothing of it was constructed.
        DamagedModelError: where it is not whole, takes other records, or leads outside its own arrays.
    """
    try:
        check_zip(BytesIO(content))
        _require_known(content)
        model = skops.io.loads(content, trusted=list(TRUSTED))
        sound = type(model) in ALLOWED and is_sound(model) and _takes(model, features)
    except UnknownTypeError:
        raise
    except _DAMAGE as exc:
        raise DamagedModelError("it is not whole") from exc
    if not sound:
        raise DamagedModelError("it leads outside its own arrays, or takes other records")
    return model


def _takes(model: Any, features: int | None) -> bool:
    """Whether an estimator that counts a record's values takes so many; None: any number."""
    return features is None or getattr(model, "n_features_in_", features) == features


def _require_known(content: bytes) -> None:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        unknown = unknown_type(json.loads(archive.read("schema.json")))
    if unknown is not None:
        raise UnknownTypeError(unknown)
