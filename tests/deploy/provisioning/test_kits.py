import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from ostraka.common.clock import SystemClock
from ostraka.common.config import is_loopback, load_section, load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority
from ostraka.common.relay.section import load_relay_section
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning import compose
from ostraka.deploy.provisioning.kits import write_kits
from ostraka.guardian.ledger.site import LedgerSettings
from ostraka.relay.section import load_server_section
from ostraka.services.admission.policy import PartySection
from tests.deploy.provisioning.kits import SITES, TEXT, make_sites

EXAMPLE = Path(__file__).parents[3] / "examples" / "federation.toml"
OPEN_FILES = f"${{OSTRAKA_FILES:-{compose.FILES}}}"
FILES = {"site.toml", "ca.crt", "crl.pem", "compose.yml", "README.md", "kit.sig"}


def service(kit: Path) -> dict[str, Any]:
    (found,) = yaml.safe_load((kit / "compose.yml").read_text())["services"].values()
    return dict(found)


def test_a_kit_holds_what_a_site_needs_and_no_secret(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, SystemClock())
    assert tuple(sites.made.kits) == SITES
    secret = (sites.made.ca / "ca.key").read_bytes()
    for kit in sites.made.kits.values():
        assert {path.name for path in kit.iterdir()} - {"data"} == FILES
        for path in kit.iterdir():
            content = b"" if path.is_dir() else path.read_bytes()
            assert b"PRIVATE KEY" not in content
            assert secret not in content
            assert sites.made.fingerprint.encode() not in content
    assert (sites.made.ca / "ca.key").stat().st_mode & 0o777 == 0o600
    assert sites.made.ca.stat().st_mode & 0o777 == 0o700


def test_every_kit_says_who_it_is_and_whom_it_calls(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, SystemClock())
    for name in SITES:
        site = load_site(sites[name])
        assert f"{site.site}-{site.role}" == name
        assert (site.federation, site.guardian_site) == ("demo", "hub")
        assert site.credentials == Path("credentials")
    parties = {"a": "127.0.0.1:7001", "b": "b.example:7001"}
    assert load_site(sites["q-query"]).parties == parties
    assert load_site(sites["hub-admin"]).guardian == "127.0.0.1:7000"
    assert load_site(sites["b-party"]).listen == "0.0.0.0:7001"
    settings = load_section(sites["hub-guardian"], "ledger", LedgerSettings)
    assert settings.address == "127.0.0.1:7000"


def test_what_one_role_alone_is_told(tmp_path: Path) -> None:
    made = write_kits(EXAMPLE, tmp_path / "kits")
    assert load_section(made.kits["gamma-party"], "party", PartySection).device == "cuda"
    assert load_section(made.kits["alpha-party"], "party", PartySection).device == "auto"
    text = EXAMPLE.read_text().replace(
        'ledger = "sqlite"', 'ledger = "postgresql"\nurl_file = "database.url"'
    )
    text = text.replace('device = "cuda"', 'device = "cpu"')
    (tmp_path / "federation.toml").write_text(text)
    kits = write_kits(tmp_path / "federation.toml", tmp_path / "more").kits
    assert load_section(kits["gamma-party"], "party", PartySection).device == "cpu"
    guardian = kits["trustee-guardian"]
    assert load_section(guardian, "ledger", LedgerSettings).url_file == Path("database.url")
    command = "guardian -c 'umask 077; cat > /site/database.url' < database.url\n"
    assert command in (guardian / "README.md").read_text()


def test_a_compose_fragment_takes_every_right_that_it_does_not_need(tmp_path: Path) -> None:
    made = write_kits(EXAMPLE, tmp_path / "kits")
    for name, kit in made.kits.items():
        found = service(kit)
        assert found["read_only"] is True
        assert (found["cap_drop"], found["user"]) == (["ALL"], "10001:10001")
        assert found["security_opt"] == ["no-new-privileges:true"]
        bound = [volume for volume in found["volumes"] if isinstance(volume, dict)]
        assert all(volume["read_only"] for volume in bound)
        assert ("healthcheck" in found) == name.endswith(("-guardian", "-party"))
        assert (
            found["mem_limit"]
            == f"${{OSTRAKA_MEMORY:-{'8g' if name.endswith(('-party', '-query')) else '2g'}}}"
        )
        assert (found["pids_limit"], found["ulimits"]) == (2048, {"nofile": OPEN_FILES})
    assert service(made.kits["alpha-party"])["ports"] == ["17701:17701"]
    assert service(made.kits["alpha-party"])["image"].startswith("ostraka-party:")
    assert not service(made.kits["alpha-party"])["image"].endswith("-cuda")
    assert service(made.kits["gamma-party"])["image"].endswith("-cuda")
    assert "deploy" in service(made.kits["gamma-party"])
    assert "deploy" not in service(made.kits["alpha-party"])


def test_the_federation_on_one_machine_has_as_many_files_as_a_site() -> None:
    services = yaml.safe_load((EXAMPLE.parents[1] / "docker-compose.yml").read_text())["services"]
    assert {str(one["ulimits"]) for one in services.values()} == {str({"nofile": OPEN_FILES})}


def test_a_server_at_one_of_the_machines_addresses_is_on_its_network(tmp_path: Path) -> None:
    found = service(make_sites(tmp_path, SystemClock())["a-party"])
    assert found["network_mode"] == "host"
    assert "ports" not in found


def test_a_containers_user_may_read_a_kit_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        kit = make_sites(tmp_path, SystemClock())["a-party"]
    finally:
        os.umask(before)
    assert kit.stat().st_mode & 0o777 == 0o755
    assert {path.stat().st_mode & 0o444 for path in kit.iterdir()} == {0o444}


def test_a_site_that_joins_later_gets_a_kit_of_the_same_ca(tmp_path: Path) -> None:
    sites = make_sites(tmp_path, SystemClock())
    file = tmp_path / "federation.toml"
    file.write_text(file.read_text() + '\n[[party]]\nsite = "c"\naddress = "c.example:7001"\n')
    made = write_kits(file, tmp_path / "more", ca=sites.made.ca)
    assert made.fingerprint == sites.made.fingerprint
    assert (made.kits["c-party"] / "ca.crt").read_bytes() == (sites.made.ca / "ca.crt").read_bytes()
    assert (sites.made.ca / "federation.toml").read_text() == file.read_text()
    assert not (tmp_path / "more" / "ca").exists()


def test_the_ca_of_another_federation_is_refused(tmp_path: Path) -> None:
    other = make_sites(tmp_path / "other", SystemClock(), federation="other")
    before = (other.made.ca / "federation.toml").read_text()
    (tmp_path / "federation.toml").write_text(TEXT.format(guardian=7000, a=7001))
    with pytest.raises(OstrakaError, match="is the CA of other, not of demo"):
        write_kits(tmp_path / "federation.toml", tmp_path / "kits", ca=other.made.ca)
    assert not (tmp_path / "kits").exists()
    assert (other.made.ca / "federation.toml").read_text() == before


def test_nothing_is_left_of_what_failed_in_the_middle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: CertificateAuthority, folder: Path) -> CertificateAuthority:
        raise OSError("disk full")

    monkeypatch.setattr(CertificateAuthority, "save", fail)
    with pytest.raises(OSError, match="disk full"):
        write_kits(EXAMPLE, tmp_path / "kits")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    made = write_kits(EXAMPLE, tmp_path / "kits")
    before = (made.ca / "ca.crt").read_bytes()
    with pytest.raises(OstrakaError, match="not overwritten") as refusal:
        write_kits(EXAMPLE, tmp_path / "kits")
    assert refusal.value.code is ErrorCode.CONFIG_INVALID
    assert (made.ca / "ca.crt").read_bytes() == before


@pytest.mark.parametrize("name", [(), ("kits",)])
def test_the_command_takes_a_file_with_or_without_its_name(tmp_path: Path, name: tuple[str, ...]) -> None:
    out = tmp_path / "out"
    arguments = ["provision", *name, str(EXAMPLE), "--out", str(out), "--json", "-"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0
    said = json.loads(result.stdout)
    assert said["fingerprint"].startswith("SHA256:")
    assert said["kits"]["alpha-party"] == str(out / "alpha-party")


RELAYED = """
[[relay]]
site = "hub"
address = "relay.example:443"

[[party]]
site = "c"
relay = "hub"
proxy = "squid.c.example:3128"
"""


def test_a_party_behind_a_relay_has_no_port_and_the_relay_reaches_the_guardian(tmp_path: Path) -> None:
    file = tmp_path / "federation.toml"
    file.write_text(TEXT.format(guardian=7000, a=7001) + RELAYED)
    kits = write_kits(file, tmp_path / "kits").kits
    party = load_site(kits["c-party"])
    section = load_relay_section(party)
    assert (section.addresses, section.site, section.guardian) == (("relay.example:443",), "hub", True)
    proxy = section.proxy_to("relay.example:443", {})
    assert proxy is not None
    assert proxy.address == "squid.c.example:3128"
    assert is_loopback(party.listen)
    assert not {"ports", "network_mode"} & set(service(kits["c-party"]))
    assert load_site(kits["q-query"]).parties["c"] == "relay.example:443"
    relay = kits["hub-relay"]
    assert load_site(relay).listen == "0.0.0.0:443"
    assert load_server_section(load_site(relay)).reach == {"hub": "127.0.0.1:7000"}
    assert service(relay)["command"] == ["relay", "serve", "--site", "/site"]
    # Others are as they were.
    assert not load_relay_section(load_site(kits["b-party"])).address
    assert service(kits["b-party"])["ports"] == ["7001:7001"]
