import fcntl
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from cryptography import x509
from typer.testing import CliRunner

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.identity.certificate_requests import fingerprint, make_keys, read_request
from ostraka.common.identity.revocation import CRL, read_crl
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.signing import revoke_site, same_fingerprint, sign_request
from ostraka.deploy.site.keys import install
from tests.deploy.provisioning.kits import Sites, make_sites

NOW = 1_800_000_000.0
DAY_S = 86_400


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    return make_sites(tmp_path, ManualClock(NOW))


@contextmanager
def opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def request_of(uri: str, folder: Path) -> bytes:
    folder.mkdir()
    make_keys(Identity.parse(uri), folder)
    return (folder / "request.pem").read_bytes()


def refusal(sites: Sites, pem: bytes, **options: object) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused:
        sign_request(pem, sites.made.ca, sites.clock, **options)  # type: ignore[arg-type]
    assert CertificateAuthority.load(sites.made.ca).issuances() == []
    return refused.value


def test_a_request_is_signed_for_as_long_as_the_federation_says(sites: Sites) -> None:
    request = sites.request("a-party")
    signed = sign_request(request, sites.made.ca, sites.clock)
    assert signed.identity == Identity("demo", "a", Role.PARTY)
    assert signed.fingerprint == fingerprint(read_request(request))
    tls, _, ca = x509.load_pem_x509_certificates(signed.certificates)
    assert tls.not_valid_after_utc.timestamp() == NOW + 365 * DAY_S
    assert fingerprint(ca) == sites.made.fingerprint
    assert b"X509 CRL" in signed.certificates


@pytest.mark.parametrize(
    ("uri", "code", "sentence"),
    [
        ("ostraka://demo/a/guardian", ErrorCode.IDENTITY_WRONG_ROLE, "a is party"),
        ("ostraka://demo/c/party", ErrorCode.IDENTITY_FOREIGN, "no site is called c"),
        ("ostraka://other/a/party", ErrorCode.IDENTITY_FOREIGN, "this is the CA of demo"),
    ],
)
def test_who_is_not_in_the_federations_file_is_not_signed(
    sites: Sites, tmp_path: Path, uri: str, code: ErrorCode, sentence: str
) -> None:
    refused = refusal(sites, request_of(uri, tmp_path / "keys"))
    assert refused.code is code
    assert sentence in refused.message


def test_a_request_that_was_exchanged_on_its_way_is_not_signed(sites: Sites, tmp_path: Path) -> None:
    own = fingerprint(read_request(sites.request("a-party")))
    forged = request_of("ostraka://demo/a/party", tmp_path / "forger")
    assert refusal(sites, forged, expected=own).code is ErrorCode.IDENTITY_INVALID


def test_fingerprints_are_compared_however_they_were_written_down() -> None:
    assert same_fingerprint("SHA256:AB:CD", " abcd")
    assert not same_fingerprint("SHA256:AB:CD", "SHA256:AB:CE")
    assert not same_fingerprint("SHA256:AB:CD", "AB:C")


def test_what_was_signed_is_signed_again_only_for_a_rotation(sites: Sites) -> None:
    sites.join("a-party")
    request = sites.request_again("a-party")
    with pytest.raises(OstrakaError, match="--again") as refused:
        sign_request(request, sites.made.ca, sites.clock)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    install(sites["a-party"], sites.sign("a-party", again=True), sites.clock)


def test_after_expiry_or_revocation_nothing_needs_to_be_said(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    sites = make_sites(tmp_path, clock)
    sites.join("a-party", "b-party")
    revoke_site("a", Role.PARTY, sites.made.ca, clock)
    sites.request_again("a-party")
    sites.sign("a-party")
    clock.advance(366 * DAY_S)
    sites.request_again("b-party")
    sites.sign("b-party")


def test_all_certificates_of_a_site_in_a_role_are_revoked(sites: Sites) -> None:
    sites.join("a-party", "b-party")
    sites.request_again("a-party")
    sites.sign("a-party", again=True)
    revoked = revoke_site("a", Role.PARTY, sites.made.ca, sites.clock)
    assert revoked.certificates == 4
    authority = CertificateAuthority.load(sites.made.ca)
    found = read_crl(revoked.list_file.read_bytes(), (sites.made.ca / "ca.crt").read_bytes())
    assert found.number == 2
    assert found.serials == {one.serial for one in authority.issuances() if one.identity.site == "a"}
    assert revoke_site("a", Role.PARTY, sites.made.ca, sites.clock).certificates == 0
    again = read_crl(revoked.list_file.read_bytes(), (sites.made.ca / "ca.crt").read_bytes())
    assert (again.number, again.serials) == (3, found.serials)
    with pytest.raises(OstrakaError, match="never had a certificate"):
        revoke_site("b", Role.QUERY, sites.made.ca, sites.clock)


def test_who_sign_and_revoke_at_once_wait_for_each_other(sites: Sites) -> None:
    sites.join("a-party", "b-party")
    request = sites.request_again("a-party")

    def act(turn: int) -> bool:
        if turn % 2:
            revoke_site("ab"[turn // 2 % 2], Role.PARTY, sites.made.ca, sites.clock)
            return False
        try:
            sign_request(request, sites.made.ca, sites.clock)
        except OstrakaError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        signed = sum(pool.map(act, range(16)))
    authority = CertificateAuthority.load(sites.made.ca)
    found = read_crl((sites.made.ca / CRL).read_bytes(), (sites.made.ca / "ca.crt").read_bytes())
    assert found.number == 1 + 8
    assert len(authority.issuances()) == 4 + 2 * signed
    issued_to_b = {one.serial for one in authority.issuances() if one.identity.site == "b"}
    assert issued_to_b <= found.serials


def test_nobody_else_signs_or_revokes_while_a_request_is_signed(sites: Sites) -> None:
    """The first request is checked and signed by a clock at which somebody looks whether the CA is free."""

    class Looking(ManualClock):
        def now(self) -> float:
            with pytest.raises(BlockingIOError), opened(sites.made.ca) as folder:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
            looked.append(True)
            return super().now()

    looked: list[bool] = []
    sign_request(sites.request("a-party"), sites.made.ca, Looking(NOW))
    assert looked


def test_the_commands(sites: Sites, tmp_path: Path) -> None:
    sites.request("a-party")
    request, ca = str(sites["a-party"] / "request.pem"), str(sites.made.ca)
    result = CliRunner().invoke(app, ["provision", "sign", request, "--ca", ca])
    assert "ostraka://demo/a/party" in result.stdout
    assert "fingerprint" in result.stdout
    assert (sites["a-party"] / "certificates.pem").exists()
    result = CliRunner().invoke(app, ["provision", "revoke", "a", "--role", "party", "--ca", ca])
    assert "Revoked 2 certificates" in result.stdout
    nowhere = ["provision", "sign", request, "--ca", ca, "--out", str(tmp_path / "none" / "c.pem")]
    assert isinstance(CliRunner().invoke(app, nowhere).exception, OstrakaError)


def test_sites_that_are_revoked_at_once_are_all_on_the_list(sites: Sites) -> None:
    sites.join("a-party", "b-party", "hub-guardian", "q-query")
    revoked = (("a", Role.PARTY), ("b", Role.PARTY), ("hub", Role.GUARDIAN), ("q", Role.QUERY))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda one: revoke_site(one[0], one[1], sites.made.ca, sites.clock), revoked))
    authority = CertificateAuthority.load(sites.made.ca)
    assert authority.revocations() == {issued.serial for issued in authority.issuances()}
