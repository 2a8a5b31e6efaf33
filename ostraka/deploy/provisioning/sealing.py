"""The seal of a kit: its CA's signature over the names and contents of all its files.

Without it, anyone who handles a kit on its way could make a site run foreign code or settings.
"""

import hashlib
import json
import re
import stat
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.versions import read_versioned
from ostraka.common.identity import CertificateAuthority
from ostraka.common.wire.contexts import KIT_CONTEXT

SEAL = "kit.sig"
OPENED = "kit.opened"
MAX_BYTES = 64 << 10
OWN = re.compile(
    r"task\.toml|data|kit\.opened(\.tmp)?|request\.pem(\.tmp)?|credentials(\.\d+)?|\.credentials-\w+"
)
"""Files that a site puts into its kit before `ostraka site init`, or that it writes."""
LINK = "credentials"


class KitSeal(BaseModel):
    """The file `kit.sig`.

    Attributes:
        version: of the seal; it is not signed, because every other version is refused.
        files: the SHA-256 of every other file, by its name, in hexadecimal digits.
        number: of the CA's kits, increasing with every run; 0 in seals of earlier versions.
        made_unix_s: when it was made; 0 in seals of earlier versions.
        signature: of the kit's CA over all of this, ECDSA with SHA-256, DER in hexadecimal digits.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: Literal[1] = 1
    files: dict[str, str]
    number: int = Field(default=0, ge=0, lt=1 << 31)
    made_unix_s: int = Field(default=0, ge=0, lt=1 << 36)
    signature: str

    def payload(self) -> bytes:
        """Return the signed content; for seals of earlier versions only the files."""
        signed = {"files": self.files, "number": self.number, "made_unix_s": self.made_unix_s}
        dated = self.number or self.made_unix_s
        return json.dumps(signed if dated else self.files, sort_keys=True).encode()


def seal_kit(folder: Path, authority: CertificateAuthority, number: int, clock: Clock) -> None:
    """Write the seal of all files in `folder`, whose only subfolders are empty ones.

    Args:
        folder: the kit.
        authority: its CA.
        number: above the number of any earlier kit of this CA, starting at 1.
        clock: the time of the seal.
    """
    files = {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.is_file()}
    made = KitSeal(files=files, number=number, made_unix_s=int(clock.now()), signature="")
    seal = made.model_copy(update={"signature": authority.seal(KIT_CONTEXT, made.payload()).hex()})
    (folder / SEAL).write_text(seal.model_dump_json(indent=2) + "\n", encoding="utf-8")


def check_seal(folder: Path, ca: x509.Certificate) -> KitSeal:
    """Return the seal of a kit that contains what its CA sealed, and nothing unknown.

    A site's own `task.toml`, `data`, keys and request may be in the folder too.

    Raises:
        OstrakaError: kit.altered; data.newer for a kit of a later version.
    """
    seal = _read(folder)
    _verify(seal, ca, folder)
    files = seal.files
    for name in files:
        if not (folder / name).exists():
            raise _alteration(folder, f"lacks {name}")
    for path in sorted(folder.iterdir()):
        if path.name != SEAL:
            _check(path, files.get(path.name))
    return seal


def _check(path: Path, sealed: str | None) -> None:
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode) and path.name != LINK:
        raise _alteration(path.parent, f"holds the link {path.name}")
    if sealed is None:
        if not OWN.fullmatch(path.name):
            raise _alteration(path.parent, f"holds {path.name[:100]!r}, which its CA did not sign")
    elif not stat.S_ISREG(mode) or mode & 0o111 or _digest(path) != sealed:
        raise _alteration(path.parent, f"holds another {path.name} than its CA signed")


def _read(folder: Path) -> KitSeal:
    try:
        return read_versioned(folder / SEAL, KitSeal, MAX_BYTES)
    except FileNotFoundError as error:
        raise _alteration(folder, f"has no {SEAL}, or an earlier version made it") from error
    except (OSError, ValidationError) as error:
        raise _alteration(folder, f"has a {SEAL} that cannot be read") from error


def _verify(seal: KitSeal, ca: x509.Certificate, folder: Path) -> None:
    key = ca.public_key()
    try:
        if not isinstance(key, ec.EllipticCurvePublicKey):
            raise InvalidSignature
        message = KIT_CONTEXT + b"\0" + seal.payload()
        key.verify(bytes.fromhex(seal.signature), message, ec.ECDSA(hashes.SHA256()))
    except (InvalidSignature, ValueError) as error:
        raise _alteration(folder, f"has a {SEAL} that its CA did not sign") from error


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _alteration(folder: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.KIT_ALTERED,
        f"The kit {folder} {problem}; use nothing in it, and ask the federation's coordinator to make it"
        " again with `ostraka provision`. Files of your own belong there after `ostraka site init`.",
    )
