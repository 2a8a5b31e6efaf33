"""Arrays of numbers from a .npy or .npz file that somebody made for a plan."""

from pathlib import Path
from zipfile import BadZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import check_zip_file

VOTES = "votes"
"""The array that an .npy file holds, which has no name there."""


def read_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a file by name; raise `data.missing` or `data.unreadable` where there are none."""
    try:
        if is_zipfile(path):
            check_zip_file(path)
        loaded = np.load(path, allow_pickle=False)
        return {VOTES: loaded} if isinstance(loaded, np.ndarray) else dict(loaded)
    except FileNotFoundError as exc:
        raise OstrakaError(ErrorCode.DATA_MISSING, f"There is no file {path}; name one with votes.") from exc
    except (OSError, ValueError, EOFError, BadZipFile, MemoryError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is no .npy or .npz file of numbers; save votes with NumPy."
        ) from exc


def finite(array: NDArray[np.generic] | None, path: Path, name: str) -> NDArray[np.float64]:
    """Return an array of a file as numbers.

    Raises `data.missing` where there is none, `data.not_numeric` or `data.nan` for what is no number.
    """
    if array is None:
        raise OstrakaError(ErrorCode.DATA_MISSING, f"{path} holds no array {name}; add it.")
    if array.dtype.kind not in "biuf":
        raise OstrakaError(ErrorCode.DATA_NOT_NUMERIC, f"{path}: {name} is not made of numbers.")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise OstrakaError(ErrorCode.DATA_NAN, f"{path}: {name} holds a number that is not finite.")
    return numbers


def wrong_shape(path: Path, name: str, wanted: str, found: NDArray[np.generic]) -> OstrakaError:
    """Return the error for an array that is not of the `wanted` shape."""
    shape = " x ".join(map(str, found.shape))
    return OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {name} must be {wanted} numbers, is {shape}.")
