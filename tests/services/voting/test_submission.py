"""A party tells its guardian something so often, waits so long each time, and then gives up."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.voting import submission
from ostraka.services.voting.submission import ATTEMPTS, GuardianLink
from tests.services.wire import Federation


@contextmanager
def linked(
    attica: Federation, address: str, waits: list[float], *, insecure: bool = False
) -> Iterator[GuardianLink]:
    own, expected = Credentials.load(attica.party), attica.guardian.credentials.identity
    with Journal(attica.party / "journal.db") as journal:
        link = GuardianLink(
            own, address, expected, journal, SystemClock(), insecure=insecure, sleep=waits.append
        )
        yield link
        link.close()


def registered(link: GuardianLink) -> None:
    link.register(common_pb2.Manifest(site="athens"))


def test_a_guardian_that_is_away_is_asked_so_often_and_no_more(attica: Federation) -> None:
    waits: list[float] = []
    with linked(attica, "127.0.0.1:1", waits) as link, pytest.raises(OstrakaError) as away:
        registered(link)
    assert (away.value.code, len(waits)) == (ErrorCode.SERVER_UNREACHABLE, ATTEMPTS - 1)


@pytest.mark.parametrize(
    ("limit", "call"),
    [("CALL_TIMEOUT_S", registered), ("RECONCILE_TIMEOUT_S", lambda link: link._reconcile(None))],
)
def test_a_guardian_that_stays_silent_is_given_up(
    limit: str, call: Callable[[GuardianLink], None], attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(submission, limit, 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with linked(attica, address, [], insecure=True) as link, pytest.raises(OstrakaError) as late:
            call(link)
    assert late.value.code is ErrorCode.SERVER_TIMEOUT
