"""What a CA issued: one line a certificate, in `issued.jsonl` of its folder."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cryptography import x509
from pydantic import BaseModel, ConfigDict, ValidationError

from common.errors import ErrorCode, OstrakaError
from common.identity.identity import Identity

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
    """Append certificates to a CA's record, durable on return."""
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
    with (folder / ISSUED).open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(line.model_dump()) + "\n" for line in lines)
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
        lines = [_Line.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
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
