from pathlib import Path

import pytest
from cryptography import x509

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, make_keys
from ostraka.common.identity.ca import ISSUED
from ostraka.common.identity.revocation import CRL, read_crl
from tests.common.federation import GUARDIAN, NAME, PARTY

NOW = 1_800_000_000.0
DAY_S = 86_400


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def ca(tmp_path: Path, clock: ManualClock) -> CertificateAuthority:
    folder = tmp_path / "ca"
    folder.mkdir()
    return CertificateAuthority.create(NAME, clock).save(folder)


def ca_pem(ca: CertificateAuthority) -> bytes:
    assert ca.folder is not None
    return (ca.folder / "ca.crt").read_bytes()


def test_everything_issued_is_recorded(ca: CertificateAuthority, tmp_path: Path, clock: ManualClock) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "pg").mkdir()
    own = ca.issue(PARTY, tmp_path / "a", clock, days=2)
    request = make_keys(GUARDIAN, tmp_path / "pg")
    signed = x509.load_pem_x509_certificates(ca.sign(request, clock, days=3))
    again = CertificateAuthority.load(tmp_path / "ca")
    tls = x509.load_pem_x509_certificate(own.tls_cert_pem)
    assert [(entry.identity, entry.use, entry.serial) for entry in again.issuances()] == [
        (PARTY, "tls", tls.serial_number),
        (PARTY, "signing", own.signing_cert.serial_number),
        (GUARDIAN, "tls", signed[0].serial_number),
        (GUARDIAN, "signing", signed[1].serial_number),
    ]
    assert [entry.until_unix_s - NOW for entry in again.issuances()] == [2 * DAY_S] * 2 + [3 * DAY_S] * 2
    assert {entry.issued_unix_s for entry in again.issuances()} == {NOW}


def test_a_record_that_was_damaged_is_named(ca: CertificateAuthority) -> None:
    assert ca.folder is not None
    (ca.folder / ISSUED).write_text("{}\n")
    with pytest.raises(OstrakaError, match=r"issued\.jsonl") as refusal:
        ca.issuances()
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_lists_number_themselves_and_forget_nothing(ca: CertificateAuthority, clock: ManualClock) -> None:
    assert ca.revocations() == frozenset()
    first = read_crl(ca.revoke([5, 7], clock), ca_pem(ca))
    clock.advance(DAY_S)
    second = read_crl(ca.revoke([7, 9], clock), ca_pem(ca))
    assert (first.number, first.serials) == (1, frozenset({5, 7}))
    assert (second.number, second.serials) == (2, frozenset({5, 7, 9}))
    assert second.next_update_unix_s - first.next_update_unix_s == DAY_S
    assert ca.revocations() == {5, 7, 9}
    assert ca.folder is not None
    assert (ca.folder / CRL).read_bytes() == second.pem


def test_a_list_that_revokes_nothing_counts_as_one(ca: CertificateAuthority, clock: ManualClock) -> None:
    lists = [read_crl(ca.revoke(serials, clock), ca_pem(ca)) for serials in ((), (), (7,))]
    assert [one.number for one in lists] == [1, 2, 3]


def test_a_list_of_another_ca_or_none_at_all_is_refused(ca: CertificateAuthority, clock: ManualClock) -> None:
    foreign = CertificateAuthority.create(NAME, clock).revoke([5], clock)
    for pem, code in ((foreign, ErrorCode.IDENTITY_FOREIGN), (b"nothing", ErrorCode.IDENTITY_INVALID)):
        with pytest.raises(OstrakaError) as refusal:
            read_crl(pem, ca_pem(ca))
        assert refusal.value.code is code


def test_a_record_that_a_crash_cut_short_goes_on(
    ca: CertificateAuthority, tmp_path: Path, clock: ManualClock
) -> None:
    assert ca.folder is not None
    for name in "ab":
        (tmp_path / name).mkdir()
    ca.issue(PARTY, tmp_path / "a", clock)
    record = ca.folder / ISSUED
    whole, first = record.read_bytes(), ca.issuances()
    record.write_bytes(whole + b'{"identity": "ostr')
    assert ca.issuances() == first
    ca.issue(PARTY, tmp_path / "b", clock)
    assert record.read_bytes().startswith(whole)
    assert len(ca.issuances()) == 4

    record.write_bytes(whole.rstrip())
    assert ca.issuances() == first
