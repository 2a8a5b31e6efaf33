"""Certificates of a federation: who somebody is, and how that is shown and verified."""

from common.identity.ca import CertificateAuthority
from common.identity.credentials import Credentials
from common.identity.identity import DnsLabel, Identity, Role, check_name
from common.identity.signatures import read_signed, verify_signed

__all__ = [
    "CertificateAuthority",
    "Credentials",
    "DnsLabel",
    "Identity",
    "Role",
    "check_name",
    "read_signed",
    "verify_signed",
]
