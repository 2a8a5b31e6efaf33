"""Files of archives: JSON lines, compressed by gzip, and what a guardian signs in the last of them."""

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
"""Of the lines. With the format of states it says which version of Ostraka reads an archive."""
VERSIONS = (FORMAT, checkpoint_state.FORMAT)
READABLE = ((1, 1), (2, 1), VERSIONS)
"""Versions of archives that this one reads. In those of schema 3, (1, 1), audit rows say less: not which
entries came before what units inherited."""
_LINE = 1 << 25
"""Bytes of a line, at most: those with a state are longest, some 250 bytes for each unit."""
_SHORT = 1 << 20
"""Bytes of a line that may hold anything."""
_VALUES = 1 << 23
"""Bytes that a longer line may have beside its first `_STRINGS` strings, of which a state is one. Lines are
parsed before they are verified, and a list of nothing takes 24 times the bytes that it is written in."""
_STRINGS = 1 << 18
"""Strings of a line that do not count as values: the line of a batch has ten for each unit that it charges.
An empty one takes some fifty bytes of memory for two in the line, so that not all may go uncounted."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_LEVEL = 6
"""zlib's own default; Python's, 9, takes longer for files that are hardly smaller."""
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
    """An archive that is not as a guardian wrote it.

    Attributes:
        what: what does not fit.
    """

    def __init__(self, path: Path, what: str) -> None:
        self.what = what
        super().__init__(
            ErrorCode.LEDGER_ARCHIVE_ALTERED,
            f"The archive {path} is not as a guardian wrote it: {what}; take another copy of it.",
        )


@dataclass(frozen=True)
class Closing:
    """The end of an archive, as a guardian signs it: the next archive begins with it.

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
        """Return the same with the state as this version writes it, to be compared."""
        return replace(self, checkpoint=self.checkpoint.in_this_format(), versions=VERSIONS)

    def payload(self) -> bytes:
        """Return what is signed under ostraka.common.wire.contexts.ARCHIVE_CONTEXT.

        Other than a checkpoint's own payload it does not name the tables' version: archives outlive it.
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
        """Return the line that has it, `signed` by a guardian."""
        return {
            "kind": "closing",
            "state": self.checkpoint.state,
            "signed": text(signed.SerializeToString()),
        }

    @classmethod
    def read(cls, line: Line) -> tuple[Self, common_pb2.Signed]:
        """Return what a line has, and the signature over it, which is still to be verified.

        Raises:
            OstrakaError: `ledger.tampered` where the state is not the one that was signed; LookupError,
                TypeError and ValueError where it is no such line.
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
    """Writes lines, and knows the digest of those written."""

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
    """Reads lines, and knows the digest of those before the one read last."""

    def __init__(self, file: GzipFile) -> None:
        self._file = file
        self._last = b""
        self._digest = hashlib.sha256()

    def next(self) -> Line:
        """Return the next line.

        Raises:
            OstrakaError: `ledger.tampered` where there is none, or it has too much.
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
        """Raise `ledger.tampered` where something comes after the line read last."""
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
        OstrakaError: `data.missing` where it cannot be read; `ledger.archive_altered` for whatever the block
            finds not to fit, and for what is not an archive.
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
