"""A relay's address, and that of a site's own server, are found without waiting where they are numbers."""

import asyncio
import socket

import pytest

from ostraka.common.relay.dialling import connect


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_only_names_are_looked_up_by_a_thread(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def run(port: int) -> None:
        loop = asyncio.get_running_loop()
        look_up = loop.getaddrinfo

        async def record(name: str, *args: object, **options: object) -> object:
            asked.append(name)
            return await look_up(name, *args, **options)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "getaddrinfo", record)
        with await connect(host, port) as connection:
            assert connection.getpeername()[1] == port

    with socket.create_server(("127.0.0.1", 0)) as bound:
        asyncio.run(run(bound.getsockname()[1]))
    assert asked == ([] if host == "127.0.0.1" else [host])
