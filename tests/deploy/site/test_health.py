import subprocess
import sys
from collections.abc import Callable

import grpc
import pytest
from typer.testing import CliRunner

from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.cli import app
from ostraka.deploy.site.health import TIMEOUT_S, is_serving, own_address
from tests.deploy.provisioning.kits import Sites
from tests.deploy.site.servers import serving

IMPORTED = """
import sys
from ostraka.deploy.cli import main
try:
    main()
except SystemExit as left:
    heavy = ("torch", "numpy", "sqlalchemy", "services", "guardian", "client", "grpc_health.v1", "matplotlib")
    print(left.code, *(name for name in heavy if name in sys.modules))
"""


def test_a_server_is_serving_until_it_drains(sites: Sites) -> None:
    kit = sites["a-party"]
    assert not is_serving(kit, timeout_s=1.0)
    with serving(kit) as bound:
        assert is_serving(kit)
        bound.health.enter_graceful_shutdown()
        assert not is_serving(kit)
    assert not is_serving(kit, timeout_s=1.0)


def test_another_sites_server_at_the_same_place_is_not_ours(sites: Sites) -> None:
    with serving(sites["hub-guardian"], listen=load_site(sites["a-party"]).listen):
        assert not is_serving(sites["a-party"], timeout_s=1.0)


def test_a_server_that_stays_silent_is_given_up(sites: Sites, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    class Silent:
        def __enter__(self) -> "Silent":
            return self

        def __exit__(self, *_: object) -> None:
            """Nothing is open."""

        def unary_unary(self, *_: object, **__: object) -> Callable[..., bytes]:
            return self.wait

        def wait(self, request: bytes, timeout: float) -> bytes:
            waited.append(timeout)
            raise grpc.RpcError

    monkeypatch.setattr(grpc, "secure_channel", lambda *_: Silent())
    assert not is_serving(sites["a-party"])
    assert waited == [TIMEOUT_S]


def test_the_command_leaves_with_the_answer(sites: Sites) -> None:
    kit = sites["a-party"]
    with serving(kit):
        result = CliRunner().invoke(app, ["site", "health", str(kit)])
        assert (result.stdout, result.exit_code) == ("serving\n", 0)
    result = CliRunner().invoke(app, ["site", "health", str(kit)])
    assert (result.stdout, result.exit_code) == ("not serving\n", 1)


@pytest.mark.heavy
def test_little_is_imported(sites: Sites) -> None:
    kit = sites["a-party"]
    with serving(kit):
        done = subprocess.run(
            [sys.executable, "-c", IMPORTED, "site", "health", str(kit)],
            capture_output=True,
            text=True,
            check=True,
        )
    assert done.stdout.splitlines() == ["serving", "0"]


def test_what_has_no_health_says_so(sites: Sites) -> None:
    with pytest.raises(OstrakaError, match="ostraka site install"):
        is_serving(sites["b-party"])
    sites.join("q-query")
    with pytest.raises(OstrakaError, match="serves nothing") as refusal:
        is_serving(sites["q-query"])
    assert refusal.value.code is ErrorCode.CONFIG_INVALID


def test_every_interface_is_reached_on_loopback(sites: Sites) -> None:
    site = load_site(sites["a-party"])
    found = {
        listen: own_address(site.model_copy(update={"listen": listen}))
        for listen in ("0.0.0.0:1", "[::]:2", "10.0.0.1:3", "[::1]:4")
    }
    assert list(found.values()) == ["127.0.0.1:1", "[::1]:2", "10.0.0.1:3", "[::1]:4"]
    with pytest.raises(OstrakaError, match="write a port"):
        own_address(site.model_copy(update={"listen": "0.0.0.0:0"}))
