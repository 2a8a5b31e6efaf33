"""Many parties asked at once: for what each of them answers, or why it does not."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import Executor
from typing import TypeVar

from ostraka.client.peers.async_peer import AsyncPeer
from ostraka.client.peers.event_loop import run_async
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.context import carrying

LOOK_EVERY_S = 0.1
"""After the time to wait is over: how often to look whether those that answered are enough."""

T = TypeVar("T")
Answered = dict[str, T | OstrakaError]


def ask_each(sites: Iterable[str], ask: Callable[[str], T], pool: Executor) -> Answered[T]:
    """Ask the `sites`, as many at once as `pool` has threads, and wait for all answers or failures."""

    def try_asking(site: str) -> T | OstrakaError:
        try:
            return ask(site)
        except OstrakaError as error:
            return error

    asked = list(sites)
    waiting = [carrying(try_asking) for _ in asked]
    came = pool.map(lambda ask_it, site: ask_it(site), waiting, asked)
    return dict(zip(asked, came, strict=True))


async def ask_all(
    sites: Iterable[str],
    ask: Callable[[str], Awaitable[T]],
    *,
    wait_s: float | None = None,
    enough: Callable[[Collection[str]], bool] = lambda _: False,
) -> Answered[T]:
    """Ask the `sites` at once; no thread waits for them.

    Those that have not answered after `wait_s` seconds are waited for until the ones that have are `enough`,
    and then cut off: `party.unreachable`. By default every one is waited for.
    """

    async def try_asking(site: str) -> T | OstrakaError:
        try:
            return await ask(site)
        except OstrakaError as error:
            return error

    tasks = {site: asyncio.ensure_future(try_asking(site)) for site in sites}
    waiting: Collection[asyncio.Future[T | OstrakaError]] = set(tasks.values())
    try:
        if waiting:
            _, waiting = await asyncio.wait(waiting, timeout=wait_s)
        while waiting and not enough(_answered(tasks)):
            _, waiting = await asyncio.wait(waiting, timeout=LOOK_EVERY_S)
        return {site: task.result() if task.done() else _late(site) for site, task in tasks.items()}
    finally:
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


def failures(came: Mapping[str, object]) -> dict[str, OstrakaError]:
    """Return why each party that gave no answer gave none."""
    return {site: error for site, error in came.items() if isinstance(error, OstrakaError)}


def unreachable(peers: Mapping[str, AsyncPeer], sites: Iterable[str]) -> dict[str, OstrakaError]:
    """Return which of the `sites` cannot be reached, and why; they are probed at once."""
    return failures(run_async(ask_all(sites, lambda site: peers[site].probe())))


def _answered(tasks: Mapping[str, asyncio.Future[T | OstrakaError]]) -> list[str]:
    return [
        site for site, task in tasks.items() if task.done() and not isinstance(task.result(), OstrakaError)
    ]


def _late(site: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.PARTY_UNREACHABLE,
        f"Party {site} had not voted when the batch's time was over and enough others had: it is left out; "
        "look at its log, or raise freeze_after_s in the guardian's policy.",
    )
