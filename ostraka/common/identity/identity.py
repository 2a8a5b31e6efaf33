"""Identities: federation, site and role, as written into every certificate."""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Annotated

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from pydantic import StringConstraints

from ostraka.common.errors import ErrorCode, OstrakaError

UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""Errors of cryptography: not all are ValueErrors, and some parts are only parsed when they are accessed."""


SCHEME = "ostraka://"
DNS_LABEL = r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$"
KNOWN_IDENTITIES = 8192
"""Number of parsed identities in the cache."""
_LABEL = re.compile(DNS_LABEL.strip("^$"))

DnsLabel = Annotated[str, StringConstraints(pattern=DNS_LABEL)]


class Role(StrEnum):
    """What a certificate's holder may do."""

    GUARDIAN = "guardian"
    PARTY = "party"
    QUERY = "query"
    ADMIN = "admin"
    RELAY = "relay"


def check_name(name: str) -> str:
    """Return `name` if it is a DNS label: at most 63 of a-z, 0-9 and -, a letter first, no - at the end.

    Raises:
        OstrakaError: config.invalid.
    """
    if _LABEL.fullmatch(name):
        return name
    raise OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"{name!r} cannot be a name; use at most 63 of a-z, 0-9 and -, beginning with a letter.",
    )


@dataclass(frozen=True)
class Identity:
    """One site in one role of one federation.

    Attributes:
        federation: name of the federation, a DNS label.
        site: name of the site, a DNS label.
        role: the site's role.
    """

    federation: str
    site: str
    role: Role

    def __post_init__(self) -> None:
        check_name(self.federation)
        check_name(self.site)

    @property
    def uri(self) -> str:
        """The certificate's URI SAN, ostraka://federation/site/role."""
        return f"{SCHEME}{self.federation}/{self.site}/{self.role}"

    @property
    def server_name(self) -> str:
        """The certificate's DNS SAN, which clients pin."""
        return f"{self.role}.{self.site}.{self.federation}.ostraka.internal"

    @classmethod
    @lru_cache(KNOWN_IDENTITIES)
    def parse(cls, uri: str) -> "Identity":
        """Read an identity from its URI.

        Raises:
            OstrakaError: identity.invalid.
        """
        try:
            if not uri.startswith(SCHEME):
                raise ValueError(uri)
            federation, site, role = uri.removeprefix(SCHEME).split("/")
            return cls(federation, site, Role(role))
        except (ValueError, OstrakaError) as error:
            raise OstrakaError(
                ErrorCode.IDENTITY_INVALID,
                f"{uri!r} is not an identity; use a certificate made by `ostraka provision`.",
            ) from error


def identity_of(certificate: x509.Certificate | x509.CertificateSigningRequest) -> Identity:
    """Return the identity in the URI SAN of a certificate, or of a request for one.

    Raises:
        OstrakaError: identity.invalid unless there is exactly one.
    """
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except UNREADABLE:
        return Identity.parse("")
    uris = names.get_values_for_type(x509.UniformResourceIdentifier)
    return Identity.parse(uris[0] if len(uris) == 1 else "")
