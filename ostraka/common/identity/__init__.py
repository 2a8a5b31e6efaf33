"""Certificates of a federation: identities, and how they are proved and verified."""

from ostraka.common.identity.ca import CertificateAuthority
from ostraka.common.identity.certificate_requests import SigningRequest, fingerprint, make_keys, read_request
from ostraka.common.identity.credentials import Credentials
from ostraka.common.identity.identity import DnsLabel, Identity, Role, check_name
from ostraka.common.identity.signatures import read_signed, verify_signed

__all__ = [
    "CertificateAuthority",
    "Credentials",
    "DnsLabel",
    "Identity",
    "Role",
    "SigningRequest",
    "check_name",
    "fingerprint",
    "make_keys",
    "read_request",
    "read_signed",
    "verify_signed",
]
