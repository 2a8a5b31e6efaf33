"""Files of a party's estimators, one for each teacher: never a pickle, read only where safe to ask."""

import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.formats import FORMATS, format_of
from ostraka.common.estimators.skops_files import DamagedModelError, UnknownTypeError
from ostraka.services.teachers.manifest import TeachersManifest, unreadable


def save_estimators(fitted: Sequence[Any], files: Sequence[Path], folder: Path) -> None:
    """Write one file for each estimator; raise `model.invalid` for one that `load_estimators` would refuse.

    Those that were read from `files` are copied: writing a forest takes longer than fitting it.
    """
    for row, file in enumerate(files):
        shutil.copyfile(file, folder / (_name(row) + _suffix(file)))
    for row, model in enumerate(() if files else fitted):
        kind = format_of(model)
        path = folder / (_name(row) + kind.suffix)
        try:
            path.write_bytes(kind.dumps(model))
        except UnknownTypeError as exc:
            raise _untrusted(path, exc) from exc


def load_estimators(folder: Path, manifest: TeachersManifest) -> tuple[list[Any], list[Path]]:
    """Return the estimators of a folder and their files; raise `model.invalid` for one that is not safe."""
    files = [_file(folder, row) for row in range(manifest.teachers)]
    return [_load(file, math.prod(manifest.shape)) for file in files], files


def _load(path: Path, features: int) -> Any:
    kind = next(kind for kind in FORMATS if path.name.endswith(kind.suffix))
    try:
        return kind.loads(path.read_bytes(), features)
    except UnknownTypeError as exc:
        raise _untrusted(path, exc) from exc
    except (OSError, DamagedModelError) as exc:
        raise unreadable(path) from exc


def _file(folder: Path, row: int) -> Path:
    """Return the file of a teacher, whatever its format."""
    paths = [folder / (_name(row) + kind.suffix) for kind in FORMATS]
    return next((path for path in paths if path.exists()), paths[-1])


def _name(row: int) -> str:
    return f"model-{row:04d}"


def _suffix(file: Path) -> str:
    return next(kind.suffix for kind in FORMATS if file.name.endswith(kind.suffix))


def _untrusted(path: Path, error: UnknownTypeError) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"{path} holds {error}, a type that is not trusted: docs/teachers.md lists the estimators that are.",
    )
