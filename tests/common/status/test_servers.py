"""Servers are asked how they are by a few threads, however many they are."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials, Identity
from ostraka.common.status import servers
from ostraka.common.status.servers import AT_ONCE, Server, parties
from tests.common.federation import QUERIER, Federation


def test_so_many_are_asked_at_once_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pools: list[int] = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, max_workers: int) -> None:
            pools.append(max_workers)
            super().__init__(max_workers)

    def answer(own: Credentials, address: str, expected: Identity, clock: Any) -> Server:
        return Server(expected.site, address)

    monkeypatch.setattr(servers, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(servers, "_ask", answer)
    named = {f"p{number}": f"p{number}.example:7001" for number in range(2 * AT_ONCE)}
    site = SiteConfig(
        federation="demo", site="q", role="query", guardian="127.0.0.1:1", parties=named, folder=tmp_path
    )
    asked = parties(site, Federation(tmp_path).issue(QUERIER), SystemClock())
    assert [(one.site, one.address) for one in asked] == list(named.items())
    assert pools == [AT_ONCE]
