"""`ostraka guardian revoke`."""

from pathlib import Path

from ostraka.common.clock import SystemClock
from ostraka.common.identity import CertificateAuthority, Role
from ostraka.common.identity.revocation import CRL
from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import FEDERATION, Federation


def test_the_cas_own_list_is_applied(admin: Admin, federation: Federation) -> None:
    federation.revoke(federation.credentials["a", Role.PARTY])
    file = federation.root / "ca" / CRL
    said = admin.text("revoke", file, "--reason", "stolen")
    assert "Revocation list 1 is in force at the guardian, with 2 certificates" in said
    federation.revoke(federation.credentials["b", Role.PARTY])
    assert admin.json("revoke", file, "--reason", "stolen, too") == {"number": 2, "revoked": 4}


def test_another_cas_list_and_what_is_none_are_refused(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "other.pem"
    assert admin.refused("revoke", file, "--reason", "r").code == "data.missing"
    file.write_bytes(CertificateAuthority.create(FEDERATION, SystemClock()).revoke([1], SystemClock()))
    refusal = admin.refused("revoke", file, "--reason", "r")
    assert refusal.code == "identity.foreign"
    assert "give this federation's crl.pem" in refusal.message
    file.write_text("nothing")
    assert admin.refused("revoke", file, "--reason", "r").code == "identity.invalid"
