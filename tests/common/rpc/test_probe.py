"""What stands in the way of a call is looked for, and not for ever."""

import socket

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.common.rpc import failures
from ostraka.common.rpc.failures import diagnose
from ostraka.common.rpc.watcher import Target
from tests.common.federation import GUARDIAN, QUERIER, Federation


def test_a_server_that_stays_silent_is_given_up(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes connections and says nothing: without a limit, the handshake would never end."""
    monkeypatch.setattr(failures, "TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        found = diagnose(Target(address, GUARDIAN, federation.issue(QUERIER)))
    assert (found.code, "does not answer" in found.message) == (ErrorCode.SERVER_UNREACHABLE, True)
