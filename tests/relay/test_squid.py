"""What a real Squid refuses, and how a site tells of it; runs through one are in tests/e2e/test_relay.py."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.relay.messages import ATTACH
from ostraka.relay import server
from tests.common.federation import PARTY, Federation
from tests.relay.programs import squid
from tests.relay.relaying import found_corporation, make_relay, make_site
from tests.relay.test_relay import refused, way

pytestmark = pytest.mark.heavy


@pytest.fixture
def federation(tmp_path: Path) -> Federation:
    return Federation(tmp_path / "federation")


@pytest.fixture
def relay(federation: Federation) -> Iterator[str]:
    with server.running(make_relay(federation)) as address:
        yield address


def refusal(federation: Federation, relay: str, table: str) -> OstrakaError:
    """Return why a site with a table [relay] gets no WebSocket."""
    by_name = relay.replace("127.0.0.1", "localhost")
    return refused(way(make_site(federation, PARTY, by_name, table)).web_socket(ATTACH))


def test_a_missing_password_and_a_port_that_is_not_allowed_are_told_by_status(
    federation: Federation, relay: str
) -> None:
    with squid(relay, user="ward:p@ss") as where:
        stranger = refusal(federation, relay, f'proxy = "http://ward:guess@{where}"\n')
        elsewhere = refusal(federation, "127.0.0.1:9", f'proxy = "http://ward:p%40ss@{where}"\n')
    assert (stranger.code, stranger.details["status"]) == (ErrorCode.RELAY_UNREACHABLE, "407")
    assert "wants a user name and password" in stranger.message
    assert (elsewhere.code, elsewhere.details["status"]) == (ErrorCode.RELAY_UNREACHABLE, "403")
    assert "have it allow CONNECT" in elsewhere.message


def test_inspection_is_told_by_its_certificate_and_by_the_upgrade_that_it_refuses(
    federation: Federation, relay: str, tmp_path: Path
) -> None:
    corporation = found_corporation(tmp_path / "corporation")
    with squid(relay, inspects=corporation, websockets=False) as where:
        unknown = refusal(federation, relay, f'proxy = "http://{where}"\n')
        known = refusal(federation, relay, f'proxy = "http://{where}"\nca = "{corporation.root}"\n')
    assert unknown.code == ErrorCode.RELAY_INTERCEPTED
    assert (known.code, known.details["status"]) == (ErrorCode.RELAY_UPGRADE_REFUSED, "426")
    assert "allow WebSockets" in known.message


def test_inspection_that_does_not_trust_the_relay_is_told_from_one_that_stops_websockets(
    federation: Federation, relay: str, tmp_path: Path
) -> None:
    corporation = found_corporation(tmp_path / "corporation")
    with squid(relay, inspects=corporation, verifies=True) as where:
        error = refusal(federation, relay, f'proxy = "http://{where}"\nca = "{corporation.root}"\n')
    assert (error.code, error.details["status"]) == (ErrorCode.RELAY_UPGRADE_REFUSED, "503")
    assert "certificate of a public CA" in error.message
