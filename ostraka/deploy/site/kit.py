"""A kit at its site, and its sets of keys: `credentials` is a link to the one in use.

A set is made beside the one in use and is taken into use by replacing the link, so that whatever happens one
set is in use, and whole.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from ostraka.common.config import SITE_FILE, SiteConfig, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.identity.certificate_requests import make_keys
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.identity.unreadable import UNREADABLE


@dataclass(frozen=True)
class Kit:
    """A kit's folder.

    Attributes:
        folder: where it lies.
        site: what its site.toml says.
    """

    folder: Path
    site: SiteConfig

    @classmethod
    def load(cls, folder: Path) -> "Kit":
        """Read a kit.

        Raises:
            OstrakaError: config.invalid where there is none, or where its keys are not kept in sets.
        """
        kit = cls(folder, load_site(folder))
        name = kit.site.credentials
        if name.is_absolute() or len(name.parts) != 1 or (kit.link.exists() and not kit.link.is_symlink()):
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{folder / SITE_FILE} keeps its keys in {folder / name}, which is no kit's; use a kit that"
                " `ostraka provision` made from a federation.toml.",
            )
        return kit

    @property
    def identity(self) -> Identity:
        """Whom the kit is for."""
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
        """The certificate of the kit's CA; raises config.invalid where it cannot be read."""
        return read_anchor(self.folder)

    @property
    def waiting(self) -> Path | None:
        """The set whose request waits for its certificates, if there is one."""
        sets = [path for path in self._sets() if not self._in_use(path)]
        return sets[-1] if sets else None

    def make_set(self) -> Path:
        """Make new keys and their request, in place of others that wait; those in use stay."""
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
        """Take a set into use: the link is the old one or the new whatever happens."""
        new = self.link.with_name(f".{self.link.name}.link")
        new.unlink(missing_ok=True)
        new.symlink_to(made.name)
        os.replace(new, self.link)
        self.forget_others(made)

    def forget_others(self, made: Path) -> None:
        """Remove all sets but `made` and the one in use, and what a killed process left of others."""
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
    """Read the certificate of a kit's CA; raises config.invalid where it cannot be read."""
    path = folder / CA_CERT
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except (OSError, *UNREADABLE) as error:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"Cannot read {path}; ask for the kit again.") from error
