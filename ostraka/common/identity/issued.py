"""Log of certificates issued by a CA: one line each, in `issued.jsonl` of its folder."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography import x509
from pydantic import BaseModel, ConfigDict, ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity.identity import Identity

ISSUED = "issued.jsonl"


@dataclass(frozen=True)
class Issued:
    """One certificate.

    Attributes:
        identity: whom it names.
        use: what its key is for.
        serial: its serial number.
        issued_unix_s: when it was issued.
        until_unix_s: when it expires.
    """

    identity: Identity
    use: Literal["tls", "signing"]
    serial: int
    issued_unix_s: int
    until_unix_s: int


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")

    identity: str
    use: Literal["tls", "signing"]
    serial: str
    issued_unix_s: int
    until_unix_s: int


def record(
    folder: Path,
    identity: Identity,
    certificates: Iterable[tuple[Literal["tls", "signing"], x509.Certificate]],
    now: float,
) -> None:
    """Append certificates to a CA's record, durable on return.

    A line that a crash cut short is dropped: nobody ever had its certificate.
    """
    lines = [
        _Line(
            identity=identity.uri,
            use=use,
            serial=f"{certificate.serial_number:x}",
            issued_unix_s=int(now),
            until_unix_s=int(certificate.not_valid_after_utc.timestamp()),
        )
        for use, certificate in certificates
    ]
    path = folder / ISSUED
    if path.exists() and path.read_bytes() != _whole(path):
        replace_durably(path, _whole(path))
    with path.open("ab") as file:
        file.writelines(json.dumps(line.model_dump()).encode() + b"\n" for line in lines)
        file.flush()
        os.fsync(file.fileno())


def read_issued(folder: Path) -> list[Issued]:
    """Everything a CA issued, the oldest first; empty where nothing was recorded.

    Raises:
        OstrakaError: config.invalid for a record that cannot be read.
    """
    path = folder / ISSUED
    if not path.exists():
        return []
    try:
        lines = [_Line.model_validate_json(line) for line in _whole(path).splitlines()]
        return [
            Issued(
                Identity.parse(line.identity),
                line.use,
                int(line.serial, 16),
                line.issued_unix_s,
                line.until_unix_s,
            )
            for line in lines
        ]
    except (OSError, ValueError, ValidationError, OstrakaError) as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{path} cannot be read as a CA wrote it; restore it from a copy."
        ) from error


def _whole(path: Path) -> bytes:
    """Return a record's lines, each with its end; without the last where a crash cut it short."""
    *lines, last = path.read_bytes().split(b"\n")
    try:
        _Line.model_validate_json(last)
        lines.append(last)
    except ValidationError:
        pass
    return b"".join(line + b"\n" for line in lines)
