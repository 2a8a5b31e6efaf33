"""A site opens the kit that is meant for it, and none that is older than the one it had."""

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority
from ostraka.common.wire.contexts import KIT_CONTEXT
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.deploy.site.keys import init, verify
from ostraka.deploy.site.kit import MAX_BYTES, last_opened
from tests.deploy.provisioning.kits import SITES, Sites, make_sites

DAY_S = 86_400.0


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_800_000_000.0)


@pytest.fixture
def sites(tmp_path: Path, clock: ManualClock) -> Sites:
    return make_sites(tmp_path, clock)


@pytest.fixture
def later(tmp_path: Path, clock: ManualClock, sites: Sites) -> Sites:
    """Return the same sites' kits of a day later, whose guardian has moved."""
    clock.advance(DAY_S)
    file = tmp_path / "moved.toml"
    file.write_text((tmp_path / "federation.toml").read_text().replace("127.0.0.1:7000", "127.0.0.1:7100"))
    return Sites(write_kits(file, tmp_path / "later", ca=sites.made.ca, clock=clock), clock)


def deliver(kit: Path, folder: Path) -> None:
    """Put the files of a kit into a site's folder, over those of the kit before."""
    for path in kit.iterdir():
        if path.is_file():
            shutil.copyfile(path, folder / path.name)


def undated(kit: Path, sites: Sites) -> None:
    """Seal a kit as an earlier version did."""
    files = json.loads((kit / "kit.sig").read_text())["files"]
    signed = json.dumps(files, sort_keys=True).encode()
    signature = CertificateAuthority.load(sites.made.ca).seal(KIT_CONTEXT, signed).hex()
    (kit / "kit.sig").write_text(json.dumps({"files": files, "signature": signature}))


def refusal(folder: Path, sites: Sites, expected: str | None = None) -> str:
    """Return why a kit is refused, by `init` and by `verify`, without a key made or anything kept."""
    before = last_opened(folder)
    sentences = set()
    for command in (verify, init):
        with pytest.raises(OstrakaError) as refused:
            command(folder, sites.made.fingerprint, expected)
        assert refused.value.code is ErrorCode.KIT_UNEXPECTED
        sentences.add(refused.value.message)
    assert last_opened(folder) == before
    (sentence,) = sentences
    return sentence


def test_a_cas_kits_are_numbered_and_dated(sites: Sites, later: Sites) -> None:
    assert (sites.made.number, later.made.number) == (1, 2)
    for name in SITES:
        first, second = (verify(of[name], sites.made.fingerprint) for of in (sites, later))
        assert (first.name, second.name) == (f"{name}/1", f"{name}/2")
        assert second.made_unix_s - first.made_unix_s == DAY_S


def test_an_older_kit_is_refused_where_a_newer_was_opened(sites: Sites, later: Sites) -> None:
    folder = later["a-party"]
    init(folder, sites.made.fingerprint)
    deliver(sites["a-party"], folder)
    assert "is number 1, made 2027-01-15 08:00 UTC, and number 2, made 2027-01-16 08:00 UTC, was opened" in (
        refusal(folder, sites)
    )


def test_a_newer_kit_follows_an_older_one(sites: Sites, later: Sites) -> None:
    folder = sites["a-party"]
    init(folder, sites.made.fingerprint)
    deliver(later["a-party"], folder)
    init(folder, sites.made.fingerprint)
    opened = last_opened(folder)
    assert opened is not None
    assert opened.name == "a-party/2"


def test_an_undated_kit_is_told_of_and_follows_no_dated_one(sites: Sites, later: Sites) -> None:
    kit = sites["a-party"]
    undated(kit, sites)
    told = str(verify(kit, sites.made.fingerprint))
    assert "no date and no number" in told
    assert "ask the coordinator" in told
    folder = later["a-party"]
    init(folder, sites.made.fingerprint)
    deliver(kit, folder)
    assert "of an earlier version, without a date" in refusal(folder, sites)


def test_an_undated_kit_cannot_be_given_a_date(sites: Sites) -> None:
    kit = sites["a-party"]
    undated(kit, sites)
    for value in ({"made_unix_s": 1_900_000_000}, {"number": 9}):
        seal = json.loads((kit / "kit.sig").read_text())
        (kit / "kit.sig").write_text(json.dumps(seal | value))
        with pytest.raises(OstrakaError, match="its CA did not sign"):
            verify(kit, sites.made.fingerprint)


def test_a_kit_of_another_site_is_refused_where_one_was_opened(sites: Sites) -> None:
    folder = sites["a-party"]
    init(folder, sites.made.fingerprint)
    deliver(sites["b-party"], folder)
    assert "This is a kit of b-party" in refusal(folder, sites)


@pytest.mark.parametrize("expected", ["b-party", "a-query", "a-party/2", "a-party/", "a", "a-party/01"])
def test_a_kit_that_the_coordinator_did_not_tell_is_refused(sites: Sites, expected: str) -> None:
    assert f"not {expected!r}" in refusal(sites["a-party"], sites, expected)


@pytest.mark.parametrize("expected", ["a-party", "a-party/1"])
def test_the_kit_that_the_coordinator_told_is_opened(sites: Sites, expected: str) -> None:
    init(sites["a-party"], sites.made.fingerprint, expected)


def test_a_kit_of_a_new_ca_follows_no_other(sites: Sites, tmp_path: Path, clock: ManualClock) -> None:
    folder = sites["a-party"]
    init(folder, sites.made.fingerprint)
    clock.advance(-DAY_S)
    other = make_sites(tmp_path / "other", clock)
    deliver(other["b-party"], folder)
    init(folder, other.made.fingerprint)


def test_what_was_opened_is_told_or_the_kit_refused(sites: Sites) -> None:
    kit = sites["a-party"]
    (kit / "kit.opened").write_text("{}")
    with pytest.raises(OstrakaError) as refused:
        init(kit, sites.made.fingerprint)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_what_was_opened_has_so_many_bytes_and_no_more(sites: Sites) -> None:
    kit = sites["a-party"]
    init(kit, sites.made.fingerprint)
    opened = (kit / "kit.opened").read_bytes().strip()
    (kit / "kit.opened").write_bytes(opened.rjust(MAX_BYTES))
    assert last_opened(kit) is not None
    (kit / "kit.opened").write_bytes(opened.rjust(MAX_BYTES + 1))
    with pytest.raises(OstrakaError) as refused:
        last_opened(kit)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_number_is_that_after_the_last(tmp_path: Path, sites: Sites) -> None:
    (sites.made.ca / "kits.number").write_text("7\n")
    made = write_kits(tmp_path / "federation.toml", tmp_path / "more", ca=sites.made.ca, clock=sites.clock)
    assert made.number == 8
    assert (sites.made.ca / "kits.number").read_text() == "8\n"


def test_no_kit_is_made_where_the_last_number_cannot_be_read(tmp_path: Path, sites: Sites) -> None:
    (sites.made.ca / "kits.number").write_text("none\n")
    with pytest.raises(OstrakaError, match="the number of the last kits"):
        write_kits(tmp_path / "federation.toml", tmp_path / "more", ca=sites.made.ca, clock=sites.clock)
    assert not (tmp_path / "more").exists()


def test_the_commands_tell_which_kit_it_is(tmp_path: Path, sites: Sites) -> None:
    words = [str(sites["a-party"]), "--ca-fingerprint", sites.made.fingerprint]
    for command in ("verify", "init"):
        result = CliRunner().invoke(app, ["site", command, *words, "--expect", "a-party/1"])
        assert result.exit_code == 0
        assert "It is for the party a of demo, number 1, made 2027-01-15 08:00 UTC" in result.stdout
    made = CliRunner().invoke(
        app, ["provision", str(tmp_path / "federation.toml"), "--out", str(tmp_path / "new")]
    )
    assert "which kit is its newest: hub-guardian/1, hub-admin/1, a-party/1" in made.stdout
