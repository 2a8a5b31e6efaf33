"""The table [relay] of a relay's own site.toml."""

from pathlib import Path

from pydantic import Field, model_validator

from ostraka.common.config import Address, SiteConfig, load_section
from ostraka.common.identity import DnsLabel, Identity, Role
from ostraka.common.validation import FrozenModel


class RelayServerSection(FrozenModel):
    """The table [relay] of a relay.

    Attributes:
        certificate: PEM file with the certificate chain of the outer TLS, relative to the site folder, such
            as one of a public CA. None: the federation's certificate.
        key: file with the private key of `certificate`.
        reach: addresses of guardians that sites may call through the relay, by the guardian's site name.
    """

    certificate: Path | None = None
    key: Path | None = None
    reach: dict[DnsLabel, Address] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _both_or_neither(self) -> "RelayServerSection":
        if (self.certificate is None) != (self.key is None):
            raise ValueError("give certificate and key, or neither")
        return self

    def addresses_by_name(self, federation: str) -> dict[str, str]:
        """Return the addresses that sites may call by the server names there."""
        names = {site: Identity(federation, site, Role.GUARDIAN).server_name for site in self.reach}
        return {names[site]: address for site, address in self.reach.items()}


def load_server_section(site: SiteConfig) -> RelayServerSection:
    """Read the table [relay] of a relay's site.toml; raises config.invalid."""
    return load_section(site.folder, "relay", RelayServerSection)
