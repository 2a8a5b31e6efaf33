"""Proxies that stand between a site and a server, by the environment."""

from pathlib import Path

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Identity, Role
from ostraka.common.rpc import make_server
from ostraka.common.rpc.failures import diagnose
from ostraka.common.rpc.proxies import proxy_of
from ostraka.common.rpc.watcher import Target
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.relay.relaying import Proxy, proxying

PROXY = {"http_proxy": "http://me:secret@proxy.clinic:3128"}


@pytest.mark.parametrize(
    ("address", "environment", "told"),
    [
        ("hub.clinic:17700", PROXY, "the proxy proxy.clinic:3128, which http_proxy names"),
        (
            "hub.clinic:17700",
            PROXY | {"https_proxy": "http://other"},
            "the proxy other, which https_proxy names",
        ),
        ("10.77.0.1:17700", PROXY | {"no_proxy": "10.78.0.0/16,clinic"}, "proxy.clinic:3128"),
    ],
)
def test_a_proxy_is_named_without_its_password(address: str, environment: dict[str, str], told: str) -> None:
    said = proxy_of(address, environment)
    assert told in said
    assert "secret" not in said


@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("hub.clinic:17700", {}),
        ("hub.clinic:17700", {"HTTP_PROXY": "http://proxy"}),
        ("127.0.0.1:17700", PROXY),
        ("[::1]:17700", PROXY),
        ("hub.clinic:17700", PROXY | {"no_proxy": "example.org, clinic"}),
        ("10.77.0.1:17700", PROXY | {"no_proxy": "10.77.0.0/16"}),
        ("10.77.0.1:17700", PROXY | {"no_grpc_proxy": "10.77.0.1"}),
    ],
)
def test_where_no_proxy_stands_none_is_named(address: str, environment: dict[str, str]) -> None:
    assert proxy_of(address, environment) == ""


def test_a_server_behind_a_proxy_is_not_reached_and_the_proxy_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    # No machine has this address (RFC 5737), and no name of it is looked up.
    monkeypatch.setattr("ostraka.common.rpc.failures.TIMEOUT_S", 0.01)
    target = Target("192.0.2.1:17700", Identity("f", "hub", Role.GUARDIAN), None)
    error = diagnose(target)
    assert error.code is ErrorCode.SERVER_UNREACHABLE
    assert "check that the proxy 127.0.0.1:9, which http_proxy names" in error.message
    assert "name the host in no_proxy" in error.message


def test_what_is_wrong_behind_a_proxy_is_looked_at_through_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    federation = Federation(tmp_path / "federation")
    bound = make_server(federation.issue(PARTY), "127.0.0.1:0", [], {}, SystemClock())
    bound.server.start()
    target = Target("hub.clinic:17700", GUARDIAN, federation.issue(QUERIER))
    proxy = Proxy("me:secret", hosts={"hub.clinic:17700": bound.address})
    with proxying(proxy) as where:
        monkeypatch.setenv("https_proxy", f"http://me:secret@{where}")
        assert diagnose(target).code is ErrorCode.IDENTITY_WRONG_SERVER
        assert proxy.connected == ["hub.clinic:17700"]
        monkeypatch.setenv("https_proxy", f"http://{where}")
        error = diagnose(target)
    assert error.code is ErrorCode.SERVER_UNREACHABLE
    assert "the proxy answers 407" in error.message
    bound.server.stop(None).wait()
