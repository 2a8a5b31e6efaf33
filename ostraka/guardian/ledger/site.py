"""The ledger of a guardian's site folder."""

from __future__ import annotations

from pathlib import Path
from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator

from ostraka.common.clock import Clock
from ostraka.common.config import Address, load_section, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role, verify_signed
from ostraka.common.wire.contexts import AUDIT_CONTEXT, CHECKPOINT_CONTEXT
from ostraka.guardian.ledger.ledger import Ledger
from ostraka.guardian.ledger.log.checkpoints import Seal
from ostraka.guardian.ledger.store.cipher import Cipher, load_or_create_key
from ostraka.protos.ostraka.v1 import common_pb2

LEDGER_FILE = "ledger.db"


class LedgerSettings(BaseModel):
    """Table `[ledger]` of a guardian's site.toml; without one the ledger is `ledger.db` in the folder.

    Attributes:
        url: URL of a PostgreSQL database, `postgresql+psycopg://...`.
        url_file: file that holds the URL, if the URL has a password; relative to the site folder.
        address: address at which clients reach this guardian, host:port, if it differs from `listen`.
            Guardians that share a database send clients there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    url_file: Path | None = None
    address: Address = ""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if self.url is not None and self.url_file is not None:
            raise ValueError("give url or url_file, not both")
        return self


def ledger_location(folder: Path) -> Path | str:
    """Where the ledger of a guardian's site folder is: a SQLite file, or a database's URL.

    Raises:
        OstrakaError: `config.invalid`.
    """
    settings = load_section(folder, "ledger", LedgerSettings)
    if settings.url_file is not None:
        return _read(folder / settings.url_file)
    return settings.url or folder / LEDGER_FILE


def ledger_address(folder: Path, listen: str) -> str:
    """Return the client address of the guardian that listens on `listen`; empty if only the system knows.

    Raises:
        OstrakaError: `config.invalid`.
    """
    settings = load_section(folder, "ledger", LedgerSettings)
    return settings.address or (listen if split_address(listen)[1] else "")


def open_guardian_ledger(folder: Path, credentials: Credentials, clock: Clock, address: str = "") -> Ledger:
    """Open the ledger of the guardian at `address`; `credentials` sign its heads.

    The first call creates the ledger and its key `folder`/ledger.key. Guardians that share a database also
    share the key: copy it to each of their folders.

    Raises:
        OstrakaError: as `Ledger.open`, `ledger_location` and `load_or_create_key`.
    """
    return Ledger.open(
        ledger_location(folder),
        clock=clock,
        cipher=Cipher(load_or_create_key(folder)),
        sign_head=lambda payload: credentials.sign(AUDIT_CONTEXT, payload),
        seal=seal_of(credentials, clock),
        address=address,
    )


def seal_of(credentials: Credentials, clock: Clock) -> Seal:
    """Return a seal that signs with `credentials`, and trusts every guardian of their federation.

    Other replicas have other keys, and so had this one before its certificate was renewed. An expired or
    revoked certificate is not trusted.
    """

    def verify(signed: common_pb2.Signed) -> None:
        verify_signed(
            signed,
            CHECKPOINT_CONTEXT,
            ca_pem=credentials.ca_pem,
            clock=clock,
            federation=credentials.identity.federation,
            role=Role.GUARDIAN,
            revocations=credentials.revocations,
        )

    return Seal(lambda payload: credentials.sign(CHECKPOINT_CONTEXT, payload), verify)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot read the ledger's URL from {path} ({exc}); check url_file."
        ) from exc
