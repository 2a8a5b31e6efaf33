from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.identity.certificate_requests import fingerprint, make_keys, read_request
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning import provision
from ostraka.deploy.site.keys import init, renew
from tests.deploy.provisioning.kits import Sites, make_sites


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    return make_sites(tmp_path, ManualClock(1_800_000_000.0))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_keys_are_made_at_the_site_for_nobody_else_to_read(sites: Sites) -> None:
    shown = init(sites["a-party"], sites.made.fingerprint)
    request = read_request((sites["a-party"] / "request.pem").read_bytes())
    assert request.identity == Identity("demo", "a", Role.PARTY)
    assert shown == fingerprint(request)
    keys = list(sites["a-party"].rglob("*.key"))
    assert len(keys) == 2
    assert {key.stat().st_mode & 0o777 for key in keys} == {0o600}
    assert {key.parent.stat().st_mode & 0o777 for key in keys} == {0o700}


def test_a_kit_of_another_ca_is_refused_before_a_key_is_made(sites: Sites, tmp_path: Path) -> None:
    other = make_sites(tmp_path / "other", sites.clock)
    before = contents(sites["a-party"])
    with pytest.raises(OstrakaError, match="do not use this kit") as refusal:
        init(sites["a-party"], other.made.fingerprint)
    assert refusal.value.code is ErrorCode.IDENTITY_FOREIGN
    assert contents(sites["a-party"]) == before


def test_keys_that_came_with_a_kit_are_not_used(sites: Sites) -> None:
    kit = sites["a-party"]
    planted = kit / "credentials.1"
    planted.mkdir()
    known = fingerprint(make_keys(Identity("demo", "a", Role.PARTY), planted))
    before = set(contents(planted).values())
    assert init(kit, sites.made.fingerprint) != known
    assert not before & set(contents(kit).values())


def test_keys_in_use_are_left_to_renew(sites: Sites) -> None:
    sites.join("a-party")
    with pytest.raises(OstrakaError, match="ostraka site renew"):
        init(sites["a-party"], sites.made.fingerprint)
    before = contents(sites["a-party"] / "credentials")
    assert renew(sites["a-party"]) != renew(sites["a-party"])
    assert contents(sites["a-party"] / "credentials") == before
    assert len(list(sites["a-party"].glob("credentials.*"))) == 2


def test_a_kit_without_keys_has_none_to_renew(sites: Sites) -> None:
    with pytest.raises(OstrakaError, match="ostraka site init"):
        renew(sites["a-party"])


def test_a_folder_with_everybodys_keys_is_no_kit(tmp_path: Path) -> None:
    folder = provision("demo", ["a"], "q", tmp_path / "local", clock=SystemClock()).parties["a"]
    with pytest.raises(OstrakaError, match="not a kit's") as refusal:
        renew(folder)
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_a_kit_whose_anchor_is_damaged(sites: Sites) -> None:
    (sites["a-party"] / "ca.crt").write_text("nothing")
    with pytest.raises(OstrakaError, match="ask for the kit again"):
        init(sites["a-party"], sites.made.fingerprint)


def test_the_commands_say_what_to_send_and_what_to_read_out(sites: Sites, tmp_path: Path) -> None:
    sites = make_sites(tmp_path / "now", SystemClock())
    kit = sites["a-party"]
    fingerprints = ["--ca-fingerprint", sites.made.fingerprint]
    result = CliRunner().invoke(app, ["site", "init", str(kit), *fingerprints])
    assert fingerprint(read_request((kit / "request.pem").read_bytes())) in result.stdout.replace("\n", "")
    result = CliRunner().invoke(app, ["site", "install", str(kit), "-"], input=sites.sign("a-party"))
    assert "ostraka://demo/a/party has certificates until" in result.stdout
    assert CliRunner().invoke(app, ["site", "renew", str(kit)]).exit_code == 0
    missing = CliRunner().invoke(app, ["site", "install", str(kit), str(tmp_path / "none.pem")])
    assert isinstance(missing.exception, OstrakaError)


def test_who_makes_keys_at_once_leaves_one_set_and_its_request(sites: Sites) -> None:
    with ThreadPoolExecutor(8) as pool:
        shown = list(pool.map(lambda _: init(sites["a-party"], sites.made.fingerprint), range(8)))
    request = (sites["a-party"] / "request.pem").read_bytes()
    assert fingerprint(read_request(request)) in shown
    assert [path.read_bytes() for path in sites["a-party"].glob("credentials.*/request.pem")] == [request]
