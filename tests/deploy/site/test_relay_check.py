"""What `ostraka site check` says of the way to a relay."""

import socket
from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials
from ostraka.deploy.site import relay_check
from ostraka.deploy.site.finding import Finding, Place
from ostraka.relay import server
from tests.common.federation import PARTY, Federation
from tests.relay.relaying import Proxy, found_corporation, make_relay, make_site, proxying


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path / "federation")


def check(site: SiteConfig) -> dict[str, Finding]:
    place = Place(site.folder, site, Credentials.of(site), SystemClock())
    found: list[Finding] = []
    for name, address in relay_check.relays(place):
        found += relay_check.relay(place, name, address)
    return {finding.check.removeprefix(f"relay {address}").removeprefix(": "): finding for finding in found}


def test_a_way_that_is_open_is_shown_step_by_step(federation: Federation) -> None:
    with server.running(make_relay(federation)) as address, proxying(Proxy("u:p")) as proxy:
        found = check(make_site(federation, PARTY, address, f'proxy = "http://u:p@{proxy}"\n'))
    assert [found[step].state for step in ("network", "TLS", "", "to itself")] == [
        "ok",
        "ok",
        "ok",
        "warning",
    ]
    assert f"through the proxy {proxy}" in found["network"].sentence
    assert "party serve" in found["to itself"].sentence
    assert "u:p" not in str(found)


def test_whoever_inspects_is_named_by_the_issuer_of_its_certificate(
    federation: Federation, tmp_path: Path
) -> None:
    corporation = found_corporation(tmp_path / "corporation")
    with (
        server.running(make_relay(federation)) as address,
        proxying(Proxy(inspects=corporation)) as proxy,
    ):
        shut = check(make_site(federation, PARTY, address, f'proxy = "http://{proxy}"\n'))[""]
        known = f'proxy = "http://{proxy}"\nca = "{corporation.root}"\n'
        found = check(make_site(federation, PARTY, address, known))
    assert shut.state == "failed"
    assert "issued by CN=Corporation" in shut.sentence
    assert "exempted from inspection" in shut.sentence
    assert "docs/firewalls.md" in shut.sentence
    assert found[""].state == "ok"
    assert "CN=Corporation" in found["TLS"].sentence


def test_each_failure_says_what_to_tell_the_it_department(federation: Federation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        nowhere = f"127.0.0.1:{closed.getsockname()[1]}"
    assert (
        "the firewall lets this machine connect" in check(make_site(federation, PARTY, nowhere))[""].sentence
    )
    with proxying(Proxy("u:p")) as proxy:
        asked = check(make_site(federation, PARTY, nowhere, f'proxy = "http://{proxy}"\n'))[""].sentence
    assert "status 407" in asked
    assert "user name and password" in asked
