"""New keys at a site: the first ones, and those that replace them."""

from pathlib import Path

from cryptography import x509

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import one_at_a_time, replace_durably
from ostraka.common.files.storage import room_in
from ostraka.common.identity.certificate_requests import REQUEST, fingerprint, read_request
from ostraka.deploy.provisioning.sealing import check_seal
from ostraka.deploy.provisioning.signing import same_fingerprint
from ostraka.deploy.site.kit import Kit, read_anchor
from ostraka.deploy.site.opened import OpenedKit, check_expected, check_follows, remember


def verify(folder: Path, ca_fingerprint: str, expected: str | None = None) -> OpenedKit:
    """Check a new kit's CA, and that the kit is as this CA sealed it, before anything else of it is read.

    Args:
        folder: the kit.
        ca_fingerprint: of the federation's CA, which its coordinator told by another way.
        expected: SITE-ROLE or SITE-ROLE/NUMBER of the kit, as the coordinator told it; None: any.

    Returns:
        Which kit it is.

    Raises:
        OstrakaError: identity.foreign for a kit of another CA; kit.altered for what that CA did not sign;
            kit.unexpected for one of another site, or older than the one opened in this folder before;
            config.invalid for a folder that is no kit.
    """
    ca = _check_anchor(folder, ca_fingerprint)
    seal = check_seal(folder, ca)
    identity = Kit.load(folder).identity
    kit = OpenedKit.of(identity, fingerprint(ca), seal.number, seal.made_unix_s)
    if expected is not None:
        check_expected(kit, expected)
    check_follows(folder, kit)
    return kit


def init(folder: Path, ca_fingerprint: str, expected: str | None = None) -> str:
    """Verify a new kit, make its first keys and write `request.pem`.

    Keys that wait are replaced: whoever had the kit before may have put them there, and would know them.
    Which kit it is stays in the folder, so that no older one follows it.

    Args:
        folder: the kit.
        ca_fingerprint: of the federation's CA, which its coordinator told by another way.
        expected: as for `verify`.

    Returns:
        The request's fingerprint.

    Raises:
        OstrakaError: as `verify`; config.invalid for a kit that has certificates.
    """
    with one_at_a_time(folder), room_in(folder):
        remember(folder, verify(folder, ca_fingerprint, expected))
        kit = Kit.load(folder)
        if kit.installed:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{folder} has keys and certificates already; `ostraka site renew` makes new ones.",
            )
        return _requested(kit, kit.make_set())


def renew(folder: Path) -> str:
    """Make new keys and `request.pem` beside the keys in use, which stay until certificates are installed.

    Returns:
        The request's fingerprint.

    Raises:
        OstrakaError: config.invalid for a kit without keys.
    """
    kit = Kit.load(folder)
    with one_at_a_time(folder), room_in(folder):
        if not kit.installed and kit.waiting is None:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID, f"{folder} has no keys yet; make them with `ostraka site init`."
            )
        return _requested(kit, kit.make_set())


def _requested(kit: Kit, keys: Path) -> str:
    """Put the request of a set of keys where people find it, and give its fingerprint."""
    request = (keys / REQUEST).read_bytes()
    replace_durably(kit.folder / REQUEST, request)
    return fingerprint(read_request(request))


def _check_anchor(folder: Path, expected: str) -> x509.Certificate:
    """Return the CA's certificate of a kit, checking that its fingerprint is the `expected` one."""
    ca = read_anchor(folder)
    found = fingerprint(ca)
    if not same_fingerprint(found, expected):
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The CA in {folder} has fingerprint {found}, not the given one; do not use this kit, and ask"
            " the federation's coordinator for another.",
        )
    return ca
