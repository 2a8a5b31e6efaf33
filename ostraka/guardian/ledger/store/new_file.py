"""New files of an operator: written atomically, never over an existing file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_full, storage_full


@contextmanager
def new_file(path: Path, what: str) -> Iterator[Path]:
    """Yield an empty file, readable only by its owner, to be filled in the block.

    It gets the name `path` after the block, when it is durable. A process that dies earlier leaves a file
    with another name; an error leaves none.

    Args:
        path: the final name; no file may exist there.
        what: the file's name in errors.

    Raises:
        OstrakaError: `ledger.exists` if there is a file at `path`, `ledger.read_only` if none can be written,
            `storage.full` without room; and as the block.
    """
    if path.exists():
        raise _exists(path, what)
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as exc:
        raise _unwritable(path, what, exc) from exc
    os.close(descriptor)
    try:
        yield Path(name)
        _sync(Path(name))
        os.link(name, path)
    except FileExistsError as exc:
        raise _exists(path, what) from exc
    except OSError as exc:
        raise _unwritable(path, what, exc) from exc
    finally:
        _remove(Path(name))
    _sync(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exists(path: Path, what: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_EXISTS, f"There is a file at {path} already; give the {what} another name."
    )


def _remove(path: Path) -> None:
    """Remove a temporary file, and the files that SQLite left beside it."""
    for left in (path, path.with_name(path.name + "-journal")):
        left.unlink(missing_ok=True)


def _unwritable(path: Path, what: str, error: OSError) -> OstrakaError:
    if is_full(error):
        return storage_full(path.parent)
    return OstrakaError(
        ErrorCode.LEDGER_READ_ONLY,
        f"The {what} {path} cannot be written ({error.strerror}); check its folder.",
    )
