from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials
from ostraka.common.identity.credentials import SIGNING_KEY, TLS_CERT, TLS_KEY
from tests.common.federation import GUARDIAN, PARTY, Federation

NOW = 1_800_000_000.0
DAY_S = 86_400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def federation(tmp_path: Path, clock: ManualClock) -> Federation:
    return Federation(tmp_path / "federation", clock=clock)


def code_of(credentials: Credentials, clock: ManualClock) -> ErrorCode:
    with pytest.raises(OstrakaError) as refusal:
        credentials.check_valid(clock)
    return refusal.value.code


def test_certificates_name_site_and_role_on_the_right_keys(federation: Federation) -> None:
    credentials = federation.issue(PARTY)
    tls = x509.load_pem_x509_certificate(credentials.tls_cert_pem)
    names = tls.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [PARTY.uri]
    assert names.get_values_for_type(x509.DNSName) == [PARTY.server_name]
    key = tls.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    assert isinstance(key.curve, ec.SECP256R1)
    assert isinstance(credentials.signing_cert.public_key(), ed25519.Ed25519PublicKey)
    assert credentials.identity == PARTY


def test_keys_are_for_their_owner_alone_and_never_shown(federation: Federation, tmp_path: Path) -> None:
    credentials = federation.issue(PARTY)
    federation.ca.save(tmp_path)
    keys = [tmp_path / "ca.key", credentials.folder / TLS_KEY, credentials.folder / SIGNING_KEY]
    assert [key.stat().st_mode & 0o777 for key in keys] == [0o600] * 3
    assert "PRIVATE" not in repr(credentials)


def test_nothing_is_overwritten(federation: Federation, clock: ManualClock) -> None:
    folder = federation.issue(PARTY).folder
    with pytest.raises(FileExistsError):
        federation.ca.issue(PARTY, folder, clock)


def test_a_saved_ca_issues_again(federation: Federation, tmp_path: Path, clock: ManualClock) -> None:
    federation.ca.save(tmp_path)
    folder = tmp_path / "a"
    folder.mkdir()
    again = CertificateAuthority.load(tmp_path)
    again.issue(PARTY, folder, clock).check_valid(clock)
    with pytest.raises(OstrakaError, match="Cannot read a CA") as refusal:
        CertificateAuthority.load(folder)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_validity_follows_the_clock(federation: Federation, clock: ManualClock) -> None:
    credentials = federation.issue(PARTY, days=2)
    credentials.check_valid(clock)
    clock.advance(2 * DAY_S + 1)
    assert code_of(credentials, clock) is ErrorCode.IDENTITY_EXPIRED
    clock.advance(-3 * DAY_S)
    assert code_of(credentials, clock) is ErrorCode.IDENTITY_NOT_YET_VALID


def test_a_certificate_of_another_ca_is_foreign(
    federation: Federation, tmp_path: Path, clock: ManualClock
) -> None:
    own = federation.issue(GUARDIAN)
    other = Federation(tmp_path / "other", clock=clock)
    folder = own.folder
    (folder / "ca.crt").write_bytes(other.issue(GUARDIAN).ca_pem)
    assert code_of(Credentials.load(folder), clock) is ErrorCode.IDENTITY_FOREIGN


@pytest.mark.parametrize("name", [TLS_KEY, TLS_CERT, SIGNING_KEY, "signing.crt", "ca.crt"])
def test_files_that_are_missing_mixed_up_or_broken(federation: Federation, name: str) -> None:
    folder, other = federation.issue(PARTY).folder, federation.issue(GUARDIAN).folder
    path = folder / name
    foreign = (other / name).read_bytes()
    path.unlink()
    wrong = [(None, "Cannot read"), (b"nothing", "cannot be read"), (foreign, "does not belong")]
    for contents, told in wrong[: 2 if name == "ca.crt" else 3]:
        if contents is not None:
            path.write_bytes(contents)
        with pytest.raises(OstrakaError, match=told) as refusal:
            Credentials.load(folder)
        assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_a_signing_certificate_of_another_identity_does_not_load(federation: Federation) -> None:
    folder, other = federation.issue(PARTY).folder, federation.issue(GUARDIAN).folder
    for name in (SIGNING_KEY, "signing.crt"):
        (folder / name).write_bytes((other / name).read_bytes())
    with pytest.raises(OstrakaError, match="different identities") as refusal:
        Credentials.load(folder)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
