"""The table [relay] of a site's site.toml: which relay it attaches to, and the way there."""

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import model_validator

from ostraka.common.config import Addresses, SiteConfig, load_section, split_addresses
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import DnsLabel, Identity, Role
from ostraka.common.rpc.http_connect import HttpProxy, first_set, read_proxy
from ostraka.common.rpc.proxies import is_excepted
from ostraka.common.validation import FrozenModel

PROXIES = ("https_proxy", "HTTPS_PROXY")
"""Variables that name the proxy for connections over TLS; the first one that is set counts."""
EXCEPTIONS = ("no_proxy", "NO_PROXY")
"""Variables that name hosts that are reached without the proxy."""


class RelaySection(FrozenModel):
    """The table [relay] of a site that attaches to a relay.

    Attributes:
        address: address of the relay, host:port. Several relays of one site are separated by commas, and this
            site attaches to each. Empty: no relay.
        site: the relay's site name.
        proxy: HTTP proxy on the way to the relay, http://user:password@host:port. Default: the one that
            HTTPS_PROXY names, unless NO_PROXY excepts the relay. "none": no proxy.
        ca: PEM file with the root certificates by which the outer TLS is verified, relative to the site
            folder. None: the relay has a certificate of the federation.
        guardian: whether this site also calls the guardian through the relay.
        parties: whether this site calls answering parties through the relay, and not at their addresses.
    """

    address: Addresses = ""
    site: DnsLabel = "relay"
    proxy: str = ""
    ca: Path | None = None
    guardian: bool = False
    parties: bool = False

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, table: object) -> object:
        if isinstance(table, dict) and table and not table.get("address"):
            raise ValueError("address is missing: say where the relay is reached")
        return table

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses of the relays; empty if the site attaches to none."""
        return split_addresses(self.address) if self.address else ()

    def identity(self, federation: str) -> Identity:
        """Return the relay's identity."""
        return Identity(federation, self.site, Role.RELAY)

    def proxy_to(self, address: str, environment: Mapping[str, str] = os.environ) -> HttpProxy | None:
        """Return the proxy between this site and a relay's address, if any; raise config.invalid."""
        if self.proxy:
            named = "`proxy` in the table [relay] of site.toml"
            return None if self.proxy == "none" else read_proxy(self.proxy, named)
        name, url = first_set(PROXIES, environment)
        return None if not name or is_excepted(address, environment, EXCEPTIONS) else read_proxy(url, name)

    def roots(self, folder: Path) -> str | None:
        """Return the PEM of `ca` in a site folder; None for the federation's own; raise config.invalid."""
        if self.ca is None:
            return None
        path = folder / self.ca
        try:
            return path.read_text(encoding="ascii")
        except (OSError, ValueError) as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot read {path}, which `ca` in the table [relay] names; put the CA's certificates there,"
                " as PEM.",
            ) from error


def load_relay_section(site: SiteConfig) -> RelaySection:
    """Read the table [relay] of a site that attaches; raise config.invalid."""
    return load_section(site.folder, "relay", RelaySection)
