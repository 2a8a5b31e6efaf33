import os
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.identity.revocation import CRL_DAYS, read_crl
from ostraka.deploy.provisioning.signing import revoke_site
from ostraka.deploy.site.keys import install, renew
from tests.deploy.provisioning.kits import Sites, make_sites

NOW = 1_800_000_000.0
DAY_S = 86_400
KILLED = 9
CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.symlink", "os.mkdir", "shutil.rmtree")


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    return make_sites(tmp_path, ManualClock(NOW))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(sites: Sites, kit: Path, pem: bytes) -> OstrakaError:
    """Why `pem` is not installed; the kit is as it was."""
    before = contents(kit)
    with pytest.raises(OstrakaError) as refusal:
        install(kit, pem, sites.clock)
    assert contents(kit) == before
    assert "\n" not in refusal.value.message
    return refusal.value


def test_certificates_are_taken_into_use_with_their_keys(sites: Sites) -> None:
    sites.request("a-party")
    done = install(sites["a-party"], sites.sign("a-party"), sites.clock)
    credentials = Credentials.of(load_site(sites["a-party"]))
    credentials.check_valid(sites.clock)
    assert credentials.identity == done.identity
    assert done.expires_unix_s == NOW + 365 * DAY_S
    assert not done.renewed
    assert credentials.revocations.number == 1
    assert not (sites["a-party"] / "request.pem").exists()


def test_certificates_of_another_request_are_refused(sites: Sites) -> None:
    sites.request("a-party")
    old = sites.sign("a-party")
    renew(sites["a-party"])
    assert refused(sites, sites["a-party"], old).code is ErrorCode.CONFIG_INVALID
    assert "for other keys" in refused(sites, sites["a-party"], old).message


@pytest.mark.parametrize(
    ("name", "code"),
    [("b-party", ErrorCode.IDENTITY_INVALID), ("q-query", ErrorCode.IDENTITY_INVALID)],
)
def test_certificates_of_another_site_are_refused(sites: Sites, name: str, code: ErrorCode) -> None:
    sites.request("a-party")
    sites.request(name)
    assert refused(sites, sites["a-party"], sites.sign(name)).code is code


def test_certificates_of_another_role_are_refused(sites: Sites) -> None:
    sites.request("hub-guardian")
    sites.request("hub-admin")
    refusal = refused(sites, sites["hub-guardian"], sites.sign("hub-admin"))
    assert refusal.code is ErrorCode.IDENTITY_WRONG_ROLE


def test_certificates_of_another_federation_are_refused(sites: Sites, tmp_path: Path) -> None:
    other = make_sites(tmp_path / "other", sites.clock, federation="other")
    sites.request("a-party")
    other.request("a-party")
    refusal = refused(sites, sites["a-party"], other.sign("a-party"))
    assert refusal.code is ErrorCode.IDENTITY_FOREIGN


def test_certificates_that_expired_or_were_revoked_are_refused(tmp_path: Path) -> None:
    clock = ManualClock(NOW)
    sites = make_sites(tmp_path, clock)
    sites.request("a-party")
    pem = sites.sign("a-party")
    revoked = revoke_site("a", Role.PARTY, sites.made.ca, clock)
    (sites["a-party"] / "crl.pem").write_bytes(revoked.list_file.read_bytes())
    assert refused(sites, sites["a-party"], pem).code is ErrorCode.IDENTITY_REVOKED
    clock.advance((CRL_DAYS + 1) * DAY_S)
    assert refused(sites, sites["a-party"], pem).code is ErrorCode.IDENTITY_EXPIRED


@pytest.mark.parametrize(
    "pem", [b"", b"nothing", b"-----BEGIN CERTIFICATE-----\nMA==\n-----END CERTIFICATE-----"]
)
def test_what_is_no_certificate_is_refused(sites: Sites, pem: bytes) -> None:
    sites.request("a-party")
    assert refused(sites, sites["a-party"], pem).code is ErrorCode.IDENTITY_INVALID


def test_there_must_be_keys_that_wait(sites: Sites) -> None:
    assert "ostraka site init" in refused(sites, sites["a-party"], b"").message
    sites.join("a-party")
    assert "ostraka site renew" in refused(sites, sites["a-party"], b"").message


def test_a_rotation_replaces_keys_and_forgets_the_old_ones(sites: Sites) -> None:
    sites.join("a-party")
    before = Credentials.of(load_site(sites["a-party"]))
    sites.request_again("a-party")
    done = install(sites["a-party"], sites.sign("a-party", again=True), sites.clock)
    after = Credentials.of(load_site(sites["a-party"]))
    assert done.renewed
    assert after.signing_public_key != before.signing_public_key
    assert [path.name for path in sites["a-party"].glob("credentials.*")] == ["credentials.2"]


def test_the_newest_list_comes_with_the_certificates(sites: Sites) -> None:
    sites.join("b-party")
    revoke_site("b", Role.PARTY, sites.made.ca, sites.clock)
    sites.join("a-party")
    kept = (sites["a-party"] / "credentials" / "crl.pem").read_bytes()
    assert read_crl(kept, (sites["a-party"] / "ca.crt").read_bytes()).number == 2


def killed_at(step: int, work: Callable[[], object]) -> bool:
    """Work in a process that is killed before change number `step` to files; False if there are fewer."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    left = step

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        written = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
        if written or event in CHANGES:
            left -= 1
            if left < 0:
                os._exit(KILLED)

    try:
        sys.addaudithook(count)
        work()
    except BaseException:
        os._exit(1)
    os._exit(0)


@pytest.mark.heavy
def test_a_rotation_that_is_killed_anywhere_leaves_one_whole_set(sites: Sites) -> None:
    kit = sites["a-party"]
    sites.join("a-party")
    old = Credentials.of(load_site(kit)).signing_public_key
    sites.request_again("a-party")
    pem = sites.sign("a-party", again=True)
    keys_seen, step = [], 0
    while killed_at(step, partial(install, kit, pem, sites.clock)):
        keys_seen.append(Credentials.of(load_site(kit)).signing_public_key)
        if keys_seen[-1] != old:
            # Back to before the rotation, so that later steps are reached.
            sites.request_again("a-party")
            pem = sites.sign("a-party", again=True)
            old = keys_seen[-1]
        step += 1
    assert step > 10
    assert len(set(keys_seen)) > 1
    assert Credentials.of(load_site(kit)).signing_public_key not in keys_seen
    assert len(list(kit.glob("credentials.*"))) == 1


@pytest.mark.heavy
def test_keys_that_are_killed_while_they_are_made_are_made_again(sites: Sites) -> None:
    kit = sites["a-party"]
    sites.join("a-party")
    before = contents(kit / "credentials")
    step = 0
    while killed_at(step, partial(renew, kit)):
        assert contents(kit / "credentials") == before
        step += 1
    assert step > 5
    install(kit, sites.sign("a-party", again=True), sites.clock)
    Credentials.of(load_site(kit)).check_valid(sites.clock)
    assert [path.name for path in kit.glob(".*")] == []
