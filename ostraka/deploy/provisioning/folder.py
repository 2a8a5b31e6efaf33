"""Folders that appear whole or not at all."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ostraka.common.errors import ErrorCode, OstrakaError


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """Yield a folder to fill in the block, which is at `out` once the block ends well, else nowhere.

    Raises:
        OstrakaError: config.invalid where `out` holds something or its place cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise _invalid(f"{out} is there already and is not overwritten; name another folder")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise _invalid(f"Cannot write below {out.parent}: {error.strerror}; name another folder") from error
    try:
        partial.chmod(0o755)
        yield partial
        os.replace(partial, out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"{problem}.")
