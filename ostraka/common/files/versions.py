"""JSON files with the version of their format, so that an older program refuses a newer file."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError

Versioned = TypeVar("Versioned", bound=BaseModel)
"""A model with a field `version`, by default the latest version that it reads."""


class _Told(BaseModel):
    version: int = 1


def read_versioned(path: Path, model: type[Versioned], most_bytes: int = -1) -> Versioned:
    """Return the content of a file; read at most `most_bytes`, or all with -1.

    Raises:
        OstrakaError: as `parse_versioned`.
        OSError: for a file that cannot be read.
        ValidationError: as `parse_versioned`.
    """
    with path.open("rb") as file:
        return parse_versioned(file.read(most_bytes), model, path)


def parse_versioned(content: bytes | str, model: type[Versioned], path: Path) -> Versioned:
    """Return the model of a file's content.

    Raises:
        OstrakaError: `data.newer` for a later version of the format, naming `path`.
        ValidationError: for anything else that does not fit the model.
    """
    try:
        return model.model_validate_json(content)
    except ValidationError:
        _refuse_later(content, model.model_fields["version"].default, path)
        raise


def _refuse_later(content: bytes | str, known: int, path: Path) -> None:
    try:
        told = _Told.model_validate_json(content).version
    except ValidationError:
        return
    if told > known:
        raise OstrakaError(
            ErrorCode.DATA_NEWER,
            f"{path} was written by a later version of Ostraka (format {told}, this one reads formats up to"
            f" {known}): use that version or a later one.",
        )
