"""The console by TLS: who shows an administrator's certificate of the federation, and nobody else."""

import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.identity.revocation import CRL
from ostraka.guardian.dashboard.console_server import running
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.dashboard.browsing import Browser
from tests.guardian.federation import FEDERATION, Calls, Federation

OPS = ("ops", Role.ADMIN)


@contextmanager
def client(address: str, federation: Federation, shown: Credentials | None) -> Iterator[Browser]:
    """Open a browser that trusts the federation's CA and shows a certificate, or none."""
    context = ssl.create_default_context(cafile=federation.credentials[OPS].folder / "ca.crt")
    context.check_hostname = False
    if shown is not None:
        context.load_cert_chain(shown.folder / TLS_CERT, shown.folder / TLS_KEY)
    with httpx.Client(base_url=f"https://{address}", verify=context) as made:
        yield Browser(made)


def issued(federation: Federation, ca: CertificateAuthority, identity: Identity) -> Credentials:
    folder = federation.root / f"other-{identity.site}-{identity.federation}"
    folder.mkdir()
    return ca.issue(identity, folder, SystemClock())


@pytest.mark.heavy
def test_an_administrators_certificate_opens_every_page(folder: Path, federation: Federation) -> None:
    urls: list[str] = []
    with (
        running(folder, "127.0.0.1:0", tls=True, allow_changes=True, tell=urls.append) as address,
        client(address, federation, federation.credentials[OPS]) as browser,
    ):
        assert urls == [f"https://{address}/"]
        assert "ostraka://test/ops/admin" in browser.text("/")
        assert "set-cookie" not in browser.client.get("/").headers
        browser.change("freeze", "a complaint", party="a", group="all", adjacency="record")
        assert "a complaint" in browser.text("/audit")
        assert browser.client.get("/enter?token=x").status_code == 404
        assert browser.client.get("/", headers={"host": "evil.example"}).status_code == 421
        named = f"admin.ops.test.ostraka.internal:{address.rpartition(':')[2]}"
        assert browser.client.get("/", headers={"host": named}).status_code == 200


def test_another_role_is_refused(folder: Path, federation: Federation) -> None:
    with running(folder, "127.0.0.1:0", tls=True, tell=print) as address:
        for who in (("a", Role.PARTY), ("q", Role.QUERY), ("guardian", Role.GUARDIAN)):
            with client(address, federation, federation.credentials[who]) as browser:
                assert "is no administrator of test" in browser.text("/", 403)


def test_nobody_without_a_certificate_of_the_federations_ca(folder: Path, federation: Federation) -> None:
    foreign = CertificateAuthority.create(FEDERATION, SystemClock())
    stranger = issued(federation, foreign, Identity(FEDERATION, "ops", Role.ADMIN))
    with running(folder, "127.0.0.1:0", tls=True, tell=print) as address:
        for shown in (None, stranger):
            with client(address, federation, shown) as browser, pytest.raises(httpx.TransportError):
                browser.client.get("/")


def test_a_certificate_that_expired_meanwhile_is_refused(folder: Path, federation: Federation) -> None:
    clock = ManualClock(SystemClock().now())
    with (
        running(folder, "127.0.0.1:0", tls=True, tell=print, clock=clock) as address,
        client(address, federation, federation.credentials[OPS]) as browser,
    ):
        browser.text("/downloads")
        clock.advance(400 * 86400)
        assert "expired" in browser.text("/downloads", 403)


def test_a_revoked_certificate_is_refused(folder: Path, federation: Federation) -> None:
    other = issued(federation, federation.ca, Identity(FEDERATION, "ops2", Role.ADMIN))
    (folder / CRL).write_bytes(federation.ca.revoke([other.tls_cert.serial_number], SystemClock()))
    with running(folder, "127.0.0.1:0", tls=True, tell=print) as address:
        with client(address, federation, other) as browser:
            assert "was revoked" in browser.text("/", 403)
        with client(address, federation, federation.credentials[OPS]) as browser:
            browser.text("/downloads")


@pytest.mark.heavy
def test_a_change_by_another_administrator_bears_their_name(
    folder: Path, federation: Federation, guardian: Calls
) -> None:
    other = issued(federation, federation.ca, Identity(FEDERATION, "ops2", Role.ADMIN))
    unit = {"party": "a", "group": "all", "adjacency": "record"}
    with running(folder, "127.0.0.1:0", tls=True, allow_changes=True, tell=print) as address:
        with client(address, federation, other) as browser:
            browser.change("freeze", "a complaint", **unit)
        with client(address, federation, federation.credentials[OPS]) as browser:
            browser.change("thaw", "settled", **unit)
    rows = [json.loads(row.payload) for row in guardian.admin.ExportAudit(admin_pb2.ExportAuditRequest())]
    assert [row["reason"] for row in rows[-2:]] == ["a complaint (ostraka://test/ops2/admin)", "settled"]
