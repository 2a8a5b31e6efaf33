"""New keys at a site: the first ones, and those that replace them."""

from pathlib import Path

from cryptography.x509.oid import NameOID

from common.errors import ErrorCode, OstrakaError
from common.files import one_at_a_time, replace_durably
from common.identity.requests import REQUEST, fingerprint, read_request
from common.storage import room_in
from deploy.provisioning.signing import same_fingerprint
from deploy.site.kit import Kit


def init(folder: Path, ca_fingerprint: str) -> str:
    """Check a new kit's CA, make its first keys and write `request.pem`.

    Keys that wait are replaced: whoever had the kit before may have put them there, and would know them.

    Args:
        folder: the kit.
        ca_fingerprint: of the federation's CA, which its coordinator told by another way.

    Returns:
        The request's fingerprint.

    Raises:
        OstrakaError: identity.foreign for a kit of another CA; config.invalid for one that has certificates.
    """
    kit = Kit.load(folder)
    _check_anchor(kit, ca_fingerprint)
    with one_at_a_time(folder), room_in(folder):
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


def _check_anchor(kit: Kit, expected: str) -> None:
    found = fingerprint(kit.ca)
    if not same_fingerprint(found, expected):
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The CA in {kit.folder} has fingerprint {found}, not the given one; do not use this kit, and ask"
            " the federation's coordinator for another.",
        )
    (name,) = kit.ca.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if name.value != kit.site.federation:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            f"The CA in {kit.folder} is that of {name.value!s}, and site.toml is for {kit.site.federation};"
            " ask for the kit again.",
        )
