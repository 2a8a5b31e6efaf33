"""A kit at its site: its sets of keys (`credentials` is the one in use), and the kit opened last."""

import os
import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ostraka.common.config import SITE_FILE, SiteConfig, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity import Identity, Role
from ostraka.common.identity.certificate_requests import make_keys
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.identity.identity import UNREADABLE
from ostraka.deploy.provisioning.sealing import OPENED


@dataclass(frozen=True)
class Kit:
    """A kit's folder.

    Attributes:
        folder: its path.
        site: its site.toml.
    """

    folder: Path
    site: SiteConfig

    @classmethod
    def load(cls, folder: Path) -> "Kit":
        """Read a kit.

        Raises:
            OstrakaError: config.invalid if there is none, or if its keys are not in sets.
        """
        kit = cls(folder, load_site(folder))
        name = kit.site.credentials
        if name.is_absolute() or len(name.parts) != 1 or (kit.link.exists() and not kit.link.is_symlink()):
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{folder / SITE_FILE} keeps its keys in {folder / name}, which is not a kit's; use a kit "
                "that `ostraka provision` made from a federation.toml.",
            )
        return kit

    @property
    def identity(self) -> Identity:
        """The identity that the kit is for."""
        return Identity(self.site.federation, self.site.site, Role(self.site.role))

    @property
    def link(self) -> Path:
        """The link to the set in use."""
        return self.folder / self.site.credentials

    @property
    def installed(self) -> bool:
        """Whether certificates were installed."""
        return self.link.is_symlink()

    @property
    def ca(self) -> x509.Certificate:
        """The certificate of the kit's CA; raises config.invalid if it cannot be read."""
        return read_anchor(self.folder)

    @property
    def waiting(self) -> Path | None:
        """The set whose request waits for its certificates, if there is one."""
        sets = [path for path in self._sets() if not self._in_use(path)]
        return sets[-1] if sets else None

    def make_set(self) -> Path:
        """Make new keys and their request, in place of waiting ones; the keys in use stay."""
        number = max((int(path.suffix[1:]) for path in self._sets()), default=0) + 1
        partial = Path(tempfile.mkdtemp(prefix=f".{self.link.name}-", dir=self.folder))
        try:
            make_keys(self.identity, partial)
            os.replace(partial, self.link.with_suffix(f".{number}"))
        finally:
            shutil.rmtree(partial, ignore_errors=True)
        made = self.link.with_suffix(f".{number}")
        self.forget_others(made)
        return made

    def use(self, made: Path) -> None:
        """Put a set into use; the link is always either the old or the new one."""
        new = self.link.with_name(f".{self.link.name}.link")
        new.unlink(missing_ok=True)
        new.symlink_to(made.name)
        os.replace(new, self.link)
        self.forget_others(made)

    def forget_others(self, made: Path) -> None:
        """Remove all sets except `made` and the one in use, and leftovers of killed processes."""
        for path in (*self._sets(), *self.folder.glob(f".{self.link.name}-*")):
            if path == made or self._in_use(path):
                continue
            if path.is_symlink():
                path.unlink()
            else:
                shutil.rmtree(path)

    def _sets(self) -> list[Path]:
        """All sets, the oldest first."""
        found = [path for path in self.folder.glob(f"{self.link.name}.*") if path.suffix[1:].isdigit()]
        return sorted(found, key=lambda path: int(path.suffix[1:]))

    def _in_use(self, path: Path) -> bool:
        return self.installed and path.name == os.readlink(self.link)


def read_anchor(folder: Path) -> x509.Certificate:
    """Read the certificate of a kit's CA; raises config.invalid if it cannot be read."""
    path = folder / CA_CERT
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, *UNREADABLE) as error:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"Cannot read {path}; ask for the kit again.") from error


MAX_BYTES = 4096


class OpenedKit(BaseModel):
    """A kit's seal and settings in short; the file `kit.opened` has those of the kit opened last.

    Attributes:
        ca: fingerprint of its CA's certificate.
        site: its site.
        role: its role.
        federation: its federation.
        number: of its CA's kits; 0 for a kit of an earlier version.
        made_unix_s: when it was made; 0 for a kit of an earlier version.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    ca: str
    site: str
    role: str
    federation: str
    number: int = Field(ge=0)
    made_unix_s: int = Field(ge=0, lt=1 << 36)

    @classmethod
    def of(cls, identity: Identity, ca: str, number: int, made_unix_s: int) -> "OpenedKit":
        """Return the description of the kit of an identity."""
        return cls(
            ca=ca,
            site=identity.site,
            role=identity.role.value,
            federation=identity.federation,
            number=number,
            made_unix_s=made_unix_s,
        )

    @property
    def name(self) -> str:
        """Its folder's original name and its number, as the coordinator tells them."""
        return f"{self.site}-{self.role}/{self.number}"

    def __str__(self) -> str:
        """Return one sentence for the person who opens it."""
        whose = f"It is for the {self.role} {self.site} of {self.federation}"
        if not self.number:
            return (
                f"{whose}; its seal has no date and no number, as those of earlier versions:"
                " ask the coordinator whether it is the newest."
            )
        return (
            f"{whose}, number {self.number}, made {self.date}: compare that with what the coordinator says."
        )

    @property
    def date(self) -> str:
        """When it was made."""
        return f"{datetime.fromtimestamp(self.made_unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def check_expected(kit: OpenedKit, expected: str) -> None:
    """Check that a kit is the one that the coordinator told, SITE-ROLE or SITE-ROLE/NUMBER.

    Raises:
        OstrakaError: kit.unexpected.
    """
    told = kit.name if "/" in expected else kit.name.partition("/")[0]
    if told != expected:
        raise _surprise(f"This is the kit {told}, not {expected[:100]!r}")


def check_follows(folder: Path, kit: OpenedKit) -> None:
    """Check that a kit is for the site that opened one in this folder before, and not older than that one.

    A kit of another CA follows nothing.

    Raises:
        OstrakaError: kit.unexpected; config.invalid if the record of the opened kit cannot be read.
    """
    before = last_opened(folder)
    if before is None or before.ca != kit.ca:
        return
    if (kit.site, kit.role) != (before.site, before.role):
        raise _surprise(
            f"This is a kit of {kit.site}-{kit.role}, and {folder} is {before.site}-{before.role}"
        )
    if (kit.number, kit.made_unix_s) < (before.number, before.made_unix_s):
        this = (
            f"number {kit.number}, made {kit.date}" if kit.number else "of an earlier version, without a date"
        )
        raise _surprise(
            f"This kit is {this}, and number {before.number}, made {before.date}, was opened here before"
        )


def remember(folder: Path, kit: OpenedKit) -> None:
    """Record in a kit's folder that this kit was opened."""
    replace_durably(folder / OPENED, kit.model_dump_json(indent=2).encode() + b"\n")


def last_opened(folder: Path) -> OpenedKit | None:
    """Return the kit that was opened last in a folder, if there is one; raises config.invalid."""
    path = folder / OPENED
    try:
        with path.open("rb") as file:
            return OpenedKit.model_validate_json(file.read(MAX_BYTES))
    except FileNotFoundError:
        return None
    except (OSError, ValidationError) as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot read in {path} which kit was opened here; remove it if the coordinator says that this"
            " kit is the newest.",
        ) from error


def _surprise(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.KIT_UNEXPECTED,
        f"{problem}; use nothing in it, and ask the federation's coordinator for this site's newest kit.",
    )
