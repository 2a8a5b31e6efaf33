from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Credentials, verify_signed
from ostraka.common.identity.revocation import CRL, Revocations
from ostraka.common.wire.contexts import GRANT_CONTEXT
from tests.common.federation import GUARDIAN, NAME, PARTY, QUERIER, Federation

NOW = 1_800_000_000.0


class Ticking:
    """A monotonic clock that tests move."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def federation(tmp_path: Path, clock: ManualClock) -> Federation:
    return Federation(tmp_path / "federation", clock=clock)


@pytest.fixture
def party(federation: Federation) -> Credentials:
    return federation.issue(PARTY)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / CRL


@pytest.fixture
def ticking() -> Ticking:
    return Ticking()


@pytest.fixture
def revocations(party: Credentials, file: Path, ticking: Ticking) -> Revocations:
    return Revocations([file], party.ca_pem, monotonic=ticking, look_every_s=5.0)


def test_without_a_list_nothing_is_revoked(revocations: Revocations, party: Credentials) -> None:
    revocations.check(party.tls_cert, "It")
    assert revocations.number == 0


def test_a_list_comes_into_force_when_its_file_is_looked_at_again(
    revocations: Revocations, party: Credentials, federation: Federation, file: Path, ticking: Ticking
) -> None:
    assert revocations.number == 0
    file.write_bytes(federation.revoke(party))
    ticking.now = 4.9
    assert not revocations.revokes(party.tls_cert)
    ticking.now = 5.0
    for certificate in (party.tls_cert, party.signing_cert):
        with pytest.raises(OstrakaError, match="ostraka site renew") as refusal:
            revocations.check(certificate, "It")
        assert refusal.value.code is ErrorCode.IDENTITY_REVOKED
    assert not revocations.revokes(federation.issue(PARTY).tls_cert)


def test_a_list_that_comes_into_force_is_logged_and_the_first_one_is_not(
    revocations: Revocations, party: Credentials, federation: Federation, file: Path, ticking: Ticking
) -> None:
    file.write_bytes(federation.revoke())
    with capture_logs() as logs:
        assert revocations.number == 1
        file.write_bytes(federation.revoke(party))
        ticking.now += 5.0
        assert revocations.number == 2
        revocations.accept(federation.revoke())
    told = [(entry["event"], entry["number"], entry["revoked"]) for entry in logs]
    assert told == [("revocations.in_force", 2, 2), ("revocations.in_force", 3, 2)]


@pytest.mark.parametrize("bad", ["foreign", "older", "unreadable", "gone"])
def test_a_worse_list_is_refused_once_and_the_one_in_force_stays(
    bad: str,
    revocations: Revocations,
    party: Credentials,
    federation: Federation,
    tmp_path: Path,
    file: Path,
    ticking: Ticking,
) -> None:
    older, current = federation.revoke(), federation.revoke(party)
    foreign = Federation(tmp_path / "other")
    for _ in range(3):
        more = foreign.revoke()
    file.write_bytes(current)
    assert revocations.number == 2
    file.unlink()
    if bad != "gone":
        file.write_bytes({"foreign": more, "older": older, "unreadable": b"none"}[bad])
    with capture_logs() as logs:
        for _ in range(3):
            ticking.now += 5.0
            assert revocations.revokes(party.tls_cert)
    assert [entry["event"] for entry in logs] == ([] if bad == "gone" else ["revocations.refused"])


def test_an_accepted_list_is_in_force_at_once_and_after_a_restart(
    revocations: Revocations, party: Credentials, federation: Federation, file: Path
) -> None:
    older, newer = federation.revoke(), federation.revoke(party)
    assert revocations.accept(newer).number == 2
    assert revocations.revokes(party.tls_cert)
    assert revocations.accept(newer).number == 2
    with pytest.raises(OstrakaError, match="older than list 2") as refusal:
        revocations.accept(older)
    assert refusal.value.code is ErrorCode.IDENTITY_INVALID
    assert Revocations([file], party.ca_pem).number == 2


def test_a_list_of_another_ca_is_not_accepted(revocations: Revocations, tmp_path: Path, file: Path) -> None:
    with pytest.raises(OstrakaError) as refusal:
        revocations.accept(Federation(tmp_path / "other").revoke())
    assert refusal.value.code is ErrorCode.IDENTITY_FOREIGN
    assert not file.exists()


def test_a_list_that_cannot_be_kept_is_in_force_all_the_same(
    party: Credentials, federation: Federation, tmp_path: Path
) -> None:
    nowhere = Revocations([tmp_path / "missing" / CRL], party.ca_pem)
    with capture_logs() as logs:
        nowhere.accept(federation.revoke(party))
    assert nowhere.revokes(party.tls_cert)
    assert [entry["event"] for entry in logs] == ["revocations.in_force", "revocations.not_kept"]


def test_the_newest_of_several_files_counts_and_the_last_is_written(
    party: Credentials, federation: Federation, tmp_path: Path
) -> None:
    secrets, own = tmp_path / "secrets", tmp_path / "own"
    for folder in (secrets, own):
        folder.mkdir()
    (secrets / CRL).write_bytes(federation.revoke())
    (own / CRL).write_bytes(federation.revoke())
    paths = [secrets / CRL, own / CRL]
    assert Revocations(paths, party.ca_pem).number == 2
    (secrets / CRL).write_bytes(federation.revoke())
    revocations = Revocations(paths, party.ca_pem)
    assert revocations.number == 3
    revocations.accept(federation.revoke(party))
    assert Revocations([own / CRL], party.ca_pem).number == 4


def test_a_revoked_signature_counts_no_longer_but_in_the_audit_log(
    federation: Federation, clock: ManualClock
) -> None:
    guardian, reader = federation.issue(GUARDIAN), federation.issue(QUERIER)
    signed = guardian.sign(GRANT_CONTEXT, b"payload")
    reader.revocations.accept(federation.revoke(guardian))

    def verify(revocations: Revocations | None) -> None:
        verify_signed(
            signed,
            GRANT_CONTEXT,
            ca_pem=reader.ca_pem,
            clock=clock,
            federation=NAME,
            role=GUARDIAN.role,
            revocations=revocations,
        )

    verify(None)
    with pytest.raises(OstrakaError) as refusal:
        verify(reader.revocations)
    assert refusal.value.code is ErrorCode.IDENTITY_REVOKED


def test_a_site_that_knows_it_is_revoked_does_not_start(
    federation: Federation, party: Credentials, clock: ManualClock
) -> None:
    (party.folder / CRL).write_bytes(federation.revoke(party))
    with pytest.raises(OstrakaError) as refusal:
        party.check_valid(clock)
    assert refusal.value.code is ErrorCode.IDENTITY_REVOKED


def test_two_lists_of_one_number_contradict_each_other(
    revocations: Revocations, party: Credentials, federation: Federation, file: Path, ticking: Ticking
) -> None:
    first = federation.revoke(party)
    assert federation.ca.folder is not None
    (federation.ca.folder / CRL).unlink()
    other = federation.revoke(federation.issue(QUERIER))
    revocations.accept(first)
    assert revocations.accept(first).number == 1
    with pytest.raises(OstrakaError, match="is another than the one in force") as refusal:
        revocations.accept(other)
    assert refusal.value.code is ErrorCode.IDENTITY_INVALID
    ticking.now += 5
    file.write_bytes(other)
    with capture_logs() as logs:
        assert revocations.revokes(party.tls_cert)
    assert [entry["event"] for entry in logs] == ["revocations.refused"]


def test_nobody_goes_on_beside_a_list_that_nobody_can_read(
    revocations: Revocations, party: Credentials, federation: Federation, file: Path
) -> None:
    revocations.require_readable()
    good = federation.revoke(party)
    foreign = CertificateAuthority.create(NAME, ManualClock(NOW)).revoke((), ManualClock(NOW))
    for bad, code in ((b"torn", "invalid"), (foreign, "foreign")):
        file.write_bytes(bad)
        with pytest.raises(OstrakaError, match="nobody knows who is revoked") as refusal:
            revocations.require_readable()
        assert refusal.value.code == f"identity.{code}"
        assert str(file) in refusal.value.message
    revocations.accept(good)
    revocations.require_readable()
