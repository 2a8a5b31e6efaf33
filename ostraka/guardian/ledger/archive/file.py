"""Files of archives: JSON lines, compressed by gzip, and the signed content of the last line."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from gzip import GzipFile
from itertools import islice
from pathlib import Path
from typing import Self

from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.archive.encoding import Line, content, text
from ostraka.guardian.ledger.log import checkpoint_state
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.checkpoints import Checkpoint
from ostraka.guardian.ledger.log.integrity import TamperedError
from ostraka.protos.ostraka.v1 import common_pb2

FORMAT = 2
"""Format of the lines. With the format of states it says which version of Ostraka reads an archive."""
VERSIONS = (FORMAT, checkpoint_state.FORMAT)
READABLE = ((1, 1), (2, 1), VERSIONS)
"""Versions of archives that this version reads. In archives of schema 3, (1, 1), audit rows say less: they
omit which entries came before what units inherited."""
_LINE = 1 << 25
"""Largest size of a line in bytes: lines with a state are the longest, some 250 bytes per unit."""
_SHORT = 1 << 20
"""Size in bytes up to which a line may contain anything."""
_VALUES = 1 << 23
"""Bytes that a longer line may have besides its first `_STRINGS` strings; a state is one string. Lines are
parsed before they are verified, and an empty list takes 24 times its written size."""
_STRINGS = 1 << 18
"""Number of strings of a line that do not count as values: the line of a batch has ten per charged unit. An
empty string takes some fifty bytes of memory for two in the line, so not all may be uncounted."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_LEVEL = 6
"""zlib's own default; Python's default, 9, takes longer and makes files hardly smaller."""
_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    gzip.BadGzipFile,
    zlib.error,
)


class AlteredError(OstrakaError):
    """An archive that differs from what a guardian wrote.

    Attributes:
        what: the contradiction.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.what = what
        super().__init__(
            ErrorCode.LEDGER_ARCHIVE_ALTERED,
            f"The archive {path} is not as a guardian wrote it: {what}; take another copy of it.",
        )


@dataclass(frozen=True)
class Closing:
    """The end of an archive, as a guardian signs it; the next archive begins with it.

    Attributes:
        checkpoint: of the archive's last audit row.
        sha256: of all lines before, in hex.
        made_unix_ms: when it was signed.
        versions: of the archive: the format of its lines, and of states.
    """

    checkpoint: Checkpoint
    sha256: str
    made_unix_ms: int
    versions: tuple[int, int] = VERSIONS

    def in_this_format(self) -> Self:
        """Return the same with the state in this version's format, for comparison."""
        return replace(self, checkpoint=self.checkpoint.in_this_format(), versions=VERSIONS)

    def payload(self) -> bytes:
        """Return the payload that is signed under ostraka.common.wire.contexts.ARCHIVE_CONTEXT.

        Unlike a checkpoint's own payload it does not name the tables' version, because archives outlive it.
        """
        signed = {
            "hash": self.checkpoint.hash.hex(),
            "ledger": self.checkpoint.ledger_id,
            "made_unix_ms": self.made_unix_ms,
            "sequence": self.checkpoint.sequence,
            "sha256": self.sha256,
            "state_sha256": sha256(self.checkpoint.state.encode()),
            "versions": self.versions,
        }
        return json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()

    def line(self, signed: common_pb2.Signed) -> Line:
        """Return its line, `signed` by a guardian."""
        return {
            "kind": "closing",
            "state": self.checkpoint.state,
            "signed": text(signed.SerializeToString()),
        }

    @classmethod
    def read(cls, line: Line) -> tuple[Self, common_pb2.Signed]:
        """Return the content of a line, and the signature over it, which the caller must still verify.

        Raises:
            OstrakaError: `ledger.tampered` if the state is not the signed one; LookupError, TypeError and
                ValueError if it is not such a line.
        """
        try:
            signed = common_pb2.Signed.FromString(content(line["signed"]))
        except DecodeError:
            raise TamperedError("its last line has no signature") from None
        told = json.loads(signed.payload)
        digest = bytes.fromhex(told["hash"])
        lines, states = told["versions"]
        checkpoint = Checkpoint(told["ledger"], told["sequence"], digest, line["state"], states)
        found = cls(checkpoint, told["sha256"], told["made_unix_ms"], (lines, states))
        if found.payload() != signed.payload:
            raise TamperedError("the state in it is not the one that was signed")
        return found, signed


class LineWriter:
    """Writes lines, and computes their digest."""

    def __init__(self, file: GzipFile) -> None:
        self._file = file
        self._digest = hashlib.sha256()

    def write(self, line: Line) -> None:
        """Add a line."""
        written = json.dumps(line, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        self._file.write(written)
        self._digest.update(written)

    @property
    def sha256(self) -> str:
        """Digest of all lines so far, in hex."""
        return self._digest.hexdigest()


class LineReader:
    """Reads lines, and computes the digest of all lines before the last one read."""

    def __init__(self, file: GzipFile) -> None:
        self._file = file
        self._last = b""
        self._digest = hashlib.sha256()

    def next(self) -> Line:
        """Return the next line.

        Raises:
            OstrakaError: `ledger.tampered` if there is none, or it is too large.
        """
        self._digest.update(self._last)
        self._last = self._file.readline(_LINE)
        if not self._last.endswith(b"\n"):
            raise TamperedError("it ends too soon, or a line of it is too long")
        if len(self._last) > _SHORT and _beside_strings(self._last) > _VALUES:
            raise TamperedError("a line of it has more values than Ostraka writes")
        line = json.loads(self._last)
        if not isinstance(line, dict):
            raise TypeError("no object")
        return line

    def end(self) -> None:
        """Raise `ledger.tampered` if something follows the last line read."""
        if self._file.read(1):
            raise TamperedError("something was added to its end")

    @property
    def sha256(self) -> str:
        """Digest of all lines but the last, in hex."""
        return self._digest.hexdigest()


def _beside_strings(line: bytes) -> int:
    strings = islice(_STRING.finditer(line), _STRINGS)
    return len(line) - sum(string.end() - string.start() for string in strings)


@contextmanager
def writing(path: Path) -> Iterator[LineWriter]:
    """Open a file to write an archive into."""
    with gzip.open(path, "wb", compresslevel=_LEVEL) as file:
        yield LineWriter(file)


@contextmanager
def reading(path: Path) -> Iterator[LineReader]:
    """Open an archive.

    Raises:
        OstrakaError: `data.missing` if it cannot be read; `ledger.archive_altered` for any contradiction that
            the block finds, and for a file that is not an archive.
    """
    try:
        with gzip.open(path, "rb") as file:
            yield LineReader(file)
    except TamperedError as exc:
        raise AlteredError(path, exc.what) from exc
    except _UNREADABLE as exc:
        raise AlteredError(path, "it is damaged, or no archive") from exc
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"The archive {path} cannot be read ({exc.strerror}); check its path."
        ) from exc
