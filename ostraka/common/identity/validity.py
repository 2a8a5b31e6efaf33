"""Validity of certificates: issued by the federation's CA, and not expired."""

from functools import lru_cache

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity.unreadable import UNREADABLE

KNOWN_CERTIFICATES = 8192
"""Certificates that are read, and whose issuer's signature is verified, once: of 5,000 parties and more."""


def check_certificate(
    certificate: x509.Certificate, ca: x509.Certificate, clock: Clock, *, whose: str, skew_s: float = 0
) -> None:
    """Refuse a certificate that the CA did not issue, or that is not valid within `skew_s` seconds of now.

    Args:
        certificate: what was shown.
        ca: the federation's CA.
        clock: tells now.
        whose: how the sentence names the certificate, like "This site's certificate".
        skew_s: how far clocks may be off, in seconds.

    Raises:
        OstrakaError: identity.foreign, identity.expired or identity.not_yet_valid.
    """
    _check_issuer(certificate, ca, whose)
    check_not_expired(certificate, clock, whose=whose, skew_s=skew_s)
    if clock.now() + skew_s < certificate.not_valid_before_utc.timestamp():
        raise OstrakaError(
            ErrorCode.IDENTITY_NOT_YET_VALID,
            f"{whose} begins at {certificate.not_valid_before_utc:%Y-%m-%d %H:%M} UTC; correct the clock.",
        )


def check_not_expired(certificate: x509.Certificate, clock: Clock, *, whose: str, skew_s: float = 0) -> None:
    """Refuse a certificate that expired more than `skew_s` seconds ago; raises identity.expired."""
    if clock.now() - skew_s > certificate.not_valid_after_utc.timestamp():
        raise OstrakaError(
            ErrorCode.IDENTITY_EXPIRED,
            f"{whose} expired at {certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; have the federation's"
            " CA issue a new one, or correct the clock.",
        )


def _check_issuer(certificate: x509.Certificate, ca: x509.Certificate, whose: str) -> None:
    try:
        _verify_issued(certificate, ca)
    except (InvalidSignature, *UNREADABLE) as error:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"{whose} was not issued by this federation's CA; use the folder that `ostraka provision` made"
            " for this federation.",
        ) from error


@lru_cache(KNOWN_CERTIFICATES)
def _verify_issued(certificate: x509.Certificate, ca: x509.Certificate) -> None:
    """Raise where the CA did not sign the certificate; what raises is not remembered."""
    certificate.verify_directly_issued_by(ca)
