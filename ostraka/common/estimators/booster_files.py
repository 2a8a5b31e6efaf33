"""Files of models of XGBoost and LightGBM: their own text formats in JSON, never a pickle."""

import json
from typing import Annotated, Any

from pydantic import Field, ValidationError

from ostraka.common.estimators.boosters import Boosters
from ostraka.common.estimators.skops_files import DamagedModelError
from ostraka.common.validation import FrozenModel

LARGEST = 256 << 20
"""Bytes of one teacher's file."""
_Class = Annotated[int, Field(ge=0, lt=2**31)]


class BoostersFile(FrozenModel):
    """A file: values of a record, the classes (none for labels), and models or a label's only value."""

    features: Annotated[int, Field(ge=1)]
    classes: Annotated[tuple[_Class, ...], Field(min_length=2)] | None
    models: Annotated[tuple[str | Annotated[int, Field(ge=0, le=1)], ...], Field(min_length=1)]


def dumps(model: Boosters) -> bytes:
    """Return models as a file."""
    file = BoostersFile(
        features=model.n_features_in_,
        classes=None if model.classes_ is None else tuple(model.classes_.tolist()),
        models=tuple(each if isinstance(each, int) else each.text for each in model.models),
    )
    return file.model_dump_json().encode()


def loads(library: str, content: bytes, features: int | None) -> Boosters:
    """Return the models of a file, safe to ask about records of `features` values.

    Raises:
        DamagedModelError: where it is too large, not whole, takes other records, or leads outside its arrays.
        OstrakaError: `model.invalid` where the library is not installed.
    """
    try:
        if len(content) > LARGEST:
            raise DamagedModelError("it is too large")
        file = BoostersFile.model_validate(json.loads(content))
        one = file.classes is None or (len(file.models) == 1 and isinstance(file.models[0], str))
        if not one or (features is not None and file.features != features):
            raise DamagedModelError("it takes other records")
        return Boosters.read(library, file.features, file.classes, file.models)
    except DamagedModelError:
        raise
    except (ValueError, KeyError, ValidationError, RecursionError, OverflowError, MemoryError) as exc:
        raise DamagedModelError("it is not whole") from exc


def is_of(library: str, model: Any) -> bool:
    """Whether models are this library's."""
    return isinstance(model, Boosters) and model.library == library
