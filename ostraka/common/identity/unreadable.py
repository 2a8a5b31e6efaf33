"""Errors of parsing somebody else's certificate, request or revocation list."""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm

UNREADABLE = (
    ValueError,
    TypeError,
    UnsupportedAlgorithm,
    x509.DuplicateExtension,
    x509.ExtensionNotFound,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)
"""Not all of cryptography's errors are ValueErrors, and its parts are parsed only when they are looked at."""
