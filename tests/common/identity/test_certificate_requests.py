from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role, fingerprint, make_keys, read_request
from ostraka.common.identity.certificate_requests import REQUEST, SigningRequest
from ostraka.common.identity.credentials import CA_CERT, SIGNING_CERT, SIGNING_KEY, TLS_CERT, TLS_KEY
from tests.common.federation import GUARDIAN, PARTY, Federation

NOW = 1_800_000_000.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def federation(tmp_path: Path, clock: ManualClock) -> Federation:
    return Federation(tmp_path / "federation", clock=clock)


def made(tmp_path: Path, identity: Identity) -> bytes:
    folder = tmp_path / f"{identity.site}-{identity.role}"
    folder.mkdir()
    make_keys(identity, folder)
    return (folder / REQUEST).read_bytes()


def parts(pem: bytes) -> list[bytes]:
    begin = b"-----BEGIN CERTIFICATE REQUEST-----"
    return [begin + part for part in pem.split(begin)[1:]]


def refused(pem: bytes) -> str:
    with pytest.raises(OstrakaError) as refusal:
        read_request(pem)
    assert refusal.value.code is ErrorCode.IDENTITY_INVALID
    return refusal.value.message


def test_a_site_makes_its_keys_and_the_ca_certifies_them(
    federation: Federation, tmp_path: Path, clock: ManualClock
) -> None:
    pem = made(tmp_path, PARTY)
    folder = tmp_path / "a-party"
    assert [(folder / name).stat().st_mode & 0o777 for name in (TLS_KEY, SIGNING_KEY)] == [0o600] * 2
    assert b"PRIVATE" not in pem
    certificates = x509.load_pem_x509_certificates(federation.ca.sign(read_request(pem), clock, days=30))
    for name, certificate in zip((TLS_CERT, SIGNING_CERT, CA_CERT), certificates, strict=True):
        (folder / name).write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    credentials = Credentials.load(folder)
    credentials.check_valid(clock)
    assert credentials.identity == PARTY


def test_keys_and_requests_are_never_overwritten(tmp_path: Path) -> None:
    made(tmp_path, PARTY)
    folder = tmp_path / "a-party"
    before = (folder / TLS_KEY).read_bytes()
    with pytest.raises(FileExistsError):
        make_keys(PARTY, folder)
    assert (folder / TLS_KEY).read_bytes() == before


def test_a_request_must_be_signed_with_the_keys_it_names(tmp_path: Path) -> None:
    request = read_request(made(tmp_path, PARTY))
    der = bytearray(request.tls.public_bytes(serialization.Encoding.DER))
    der[-1] ^= 1
    forged = x509.load_der_x509_csr(bytes(der)).public_bytes(serialization.Encoding.PEM)
    signing = request.signing.public_bytes(serialization.Encoding.PEM)
    assert "not signed" in refused(forged + signing)


def test_a_request_names_one_identity_on_the_right_keys(tmp_path: Path) -> None:
    party, guardian = parts(made(tmp_path, PARTY)), parts(made(tmp_path, GUARDIAN))
    assert "two identities" in refused(party[0] + guardian[1])
    assert "P-256" in refused(party[1] + party[0])
    assert "two requests" in refused(party[0])
    assert "two requests" in refused(b"nothing")
    assert "cannot be read" in refused(party[0] + party[1].replace(b"M", b"!"))


def test_a_request_without_an_identity_is_refused(tmp_path: Path) -> None:
    name = x509.Name([])
    tls = x509.CertificateSigningRequestBuilder(name).sign(
        ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()
    )
    signing = x509.CertificateSigningRequestBuilder(name).sign(ed25519.Ed25519PrivateKey.generate(), None)
    pem = b"".join(part.public_bytes(serialization.Encoding.PEM) for part in (tls, signing))
    refused(pem)


def test_the_ca_signs_for_its_own_federation_alone(
    federation: Federation, tmp_path: Path, clock: ManualClock
) -> None:
    request = read_request(made(tmp_path, Identity("persia", "a", Role.PARTY)))
    with pytest.raises(OstrakaError) as refusal:
        federation.ca.sign(request, clock)
    assert refusal.value.code is ErrorCode.IDENTITY_FOREIGN


def test_fingerprints_tell_certificates_and_requests_apart(federation: Federation, tmp_path: Path) -> None:
    request = read_request(made(tmp_path, PARTY))
    other: SigningRequest = read_request(made(tmp_path, GUARDIAN))
    prints = {fingerprint(request), fingerprint(other), fingerprint(federation.ca.certificate)}
    assert len(prints) == 3
    assert all(text.startswith("SHA256:") and len(text) == len("SHA256:") + 95 for text in prints)
    again = x509.load_pem_x509_certificate(federation.ca.certificate.public_bytes(serialization.Encoding.PEM))
    assert fingerprint(again) == fingerprint(federation.ca.certificate)
