"""Whoever has a kit on its way changes nothing in it that a site would take."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.sealing import MAX_BYTES, seal_kit
from ostraka.deploy.site.keys import init, verify
from tests.deploy.provisioning.kits import Sites, make_sites

PRIVILEGED = """
services:
  party:
    image: ostraka-party:0.1.0
    privileged: true
    volumes: ["/:/host"]
    entrypoint: ["sh", "-c", "chroot /host sh"]
"""


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    return make_sites(tmp_path, ManualClock(1_800_000_000.0))


def replaced(name: str, text: str) -> Callable[[Path], object]:
    return lambda kit: (kit / name).write_text(text)


def linked(name: str, target: str) -> Callable[[Path], object]:
    def link(kit: Path) -> None:
        path = kit / name
        if path.is_dir():
            path.rmdir()
        path.unlink(missing_ok=True)
        path.symlink_to(target)

    return link


def made_folder(kit: Path) -> None:
    (kit / "README.md").unlink()
    (kit / "README.md").mkdir()


def relisted(kit: Path) -> None:
    """Write a list of files that names a planted one, in place of the signed list."""
    seal = json.loads((kit / "kit.sig").read_text())
    seal["files"]["../compose.yml"] = "00" * 32
    (kit / "kit.sig").write_text(json.dumps(seal))


def resealed(**values: int) -> Callable[[Path], object]:
    """Give the seal another date or number."""

    def reseal(kit: Path) -> None:
        seal = json.loads((kit / "kit.sig").read_text())
        (kit / "kit.sig").write_text(json.dumps(seal | values))

    return reseal


ATTACKS: dict[str, Callable[[Path], object]] = {
    "privileged": replaced("compose.yml", PRIVILEGED),
    "preferred by Docker": replaced("compose.yaml", PRIVILEGED),
    "laid over by Docker": replaced("compose.override.yml", PRIVILEGED),
    "environment of Docker": replaced(".env", "COMPOSE_FILE=/tmp/other.yml"),
    "settings": replaced("site.toml", "[policy]\nmin_parties = 1\n"),
    "no settings": lambda kit: (kit / "site.toml").unlink(),
    "no list": lambda kit: (kit / "crl.pem").unlink(),
    "no seal": lambda kit: (kit / "kit.sig").unlink(),
    "empty seal": replaced("kit.sig", ""),
    "deep seal": replaced("kit.sig", "[" * 50_000),
    "seal of others": replaced("kit.sig", '{"files": {}, "signature": "00"}'),
    "another list of files": relisted,
    "a later number": resealed(number=2),
    "a later date": resealed(made_unix_s=1_900_000_000),
    "no number": resealed(number=0),
    "executable": lambda kit: (kit / "README.md").chmod(0o755),
    "link to the same": linked("site.toml", "README.md"),
    "link in place of records": linked("data", "/etc"),
    "link in place of a task": linked("task.toml", "/etc/passwd"),
    "link in place of keys": linked("credentials.1", "/etc"),
    "folder in place of a file": made_folder,
    "folder": lambda kit: (kit / "teachers").mkdir(),
    "pipe": lambda kit: os.mkfifo(kit / "pipe"),
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_kit_that_was_changed_is_refused_before_a_key_is_made(
    sites: Sites, attack: Callable[[Path], object]
) -> None:
    kit = sites["a-party"]
    attack(kit)
    for command in (verify, init):
        with pytest.raises(OstrakaError) as refusal:
            command(kit, sites.made.fingerprint)
        assert refusal.value.code is ErrorCode.KIT_ALTERED
        assert "ask the federation's coordinator" in refusal.value.message
    assert not list(kit.glob("**/*.key"))


def test_what_a_site_puts_into_its_kit_is_no_change(sites: Sites) -> None:
    kit = sites["a-party"]
    (kit / "task.toml").write_text("its own")
    (kit / "data" / "records.npz").write_text("its own")
    for _ in range(2):
        init(kit, sites.made.fingerprint)


def test_a_seal_has_so_many_bytes_and_no_more(sites: Sites) -> None:
    """Spaces around it change nothing of what a seal says."""
    kit = sites["a-party"]
    seal = (kit / "kit.sig").read_bytes().strip()
    (kit / "kit.sig").write_bytes(seal.rjust(MAX_BYTES))
    verify(kit, sites.made.fingerprint)
    (kit / "kit.sig").write_bytes(seal.rjust(MAX_BYTES + 1))
    with pytest.raises(OstrakaError, match="cannot be read") as refusal:
        verify(kit, sites.made.fingerprint)
    assert refusal.value.code is ErrorCode.KIT_ALTERED


def test_a_seal_of_another_ca_is_none(sites: Sites, tmp_path: Path) -> None:
    other = make_sites(tmp_path / "other", sites.clock)
    (sites["a-party"] / "kit.sig").unlink()
    seal_kit(sites["a-party"], CertificateAuthority.load(other.made.ca), 1, sites.clock)
    with pytest.raises(OstrakaError, match="its CA did not sign"):
        verify(sites["a-party"], sites.made.fingerprint)


def test_the_command_verifies_and_leaves_a_kit_as_it_is(sites: Sites) -> None:
    kit = sites["a-party"]
    before = sorted(path.name for path in kit.iterdir())
    result = CliRunner().invoke(
        app, ["site", "verify", str(kit), "--ca-fingerprint", sites.made.fingerprint, "--json", "-"]
    )
    told = {"site": "a", "role": "party", "federation": "demo", "number": 1, "made_unix_s": 1_800_000_000}
    assert json.loads(result.stdout) == {"kit": str(kit), "verified": True, **told}
    assert sorted(path.name for path in kit.iterdir()) == before
