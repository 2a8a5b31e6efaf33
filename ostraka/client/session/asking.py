"""Ask many parties at once, and return each party's answer or the reason why it did not answer.

Any exception while a party is asked is a failure of that party; an interruption of this process ends all
calls.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, wait
from typing import TypeVar

from ostraka.client.peers.async_peer import AsyncPeer
from ostraka.client.peers.event_loop import run_async
from ostraka.client.session.stragglers import LOOK_EVERY_S, Waiting, late
from ostraka.common.errors import OstrakaError
from ostraka.common.rpc.failures import failure_of
from ostraka.common.telemetry.context import carrying

T = TypeVar("T")
Answered = dict[str, T | OstrakaError]


def ask_each(
    sites: Iterable[str],
    ask: Callable[[str], T],
    pool: Executor,
    waiting: Waiting | None = None,
    cut: Callable[[str], None] = lambda _: None,
) -> Answered[T]:
    """Ask the `sites` in parallel, one thread of `pool` each, and wait for all answers or failures.

    Parties that are too late for `waiting` are cut off with `party.unreachable`. `cut` ends the calls to a
    party that are in progress. By default there is no time limit.
    """
    waiting = waiting or Waiting()

    def try_asking(site: str) -> T | OstrakaError:
        try:
            answer = ask(site)
        except Exception as error:
            return failure_of(error, f"party {site}")
        waiting.note_answer(site)
        return answer

    asked = {site: pool.submit(carrying(try_asking), site) for site in sites}
    try:
        while _wait_for_all(asked, waiting.look_s) and not waiting.over:
            pass
        stragglers = {site: one for site, one in asked.items() if not one.done()}
        _cut_off(stragglers, cut)
        too_late = {site for site, one in stragglers.items() if _gave_nothing(one)}
        for site in too_late:
            waiting.note_cut(site)
        return {site: late(site) if site in too_late else one.result() for site, one in asked.items()}
    finally:
        for one in asked.values():
            one.cancel()


async def ask_all(
    sites: Iterable[str], ask: Callable[[str], Awaitable[T]], waiting: Waiting | None = None
) -> Answered[T]:
    """Ask the `sites` concurrently, without threads.

    Parties that are too late for `waiting` are cut off with `party.unreachable`. By default there is no time
    limit.
    """
    waiting = waiting or Waiting()

    async def try_asking(site: str) -> T | OstrakaError:
        try:
            answer = await ask(site)
        except Exception as error:
            return failure_of(error, f"party {site}")
        waiting.note_answer(site)
        return answer

    asked = {site: asyncio.ensure_future(try_asking(site)) for site in sites}
    left = set(asked.values())
    try:
        if left:
            _, left = await asyncio.wait(left, timeout=waiting.look_s)
        while left and not waiting.over:
            _, left = await asyncio.wait(left, timeout=waiting.look_s)
        too_late = {site for site, one in asked.items() if not one.done()}
        for site in too_late:
            waiting.note_cut(site)
        return {site: late(site) if site in too_late else one.result() for site, one in asked.items()}
    finally:
        for one in left:
            one.cancel()
        await asyncio.gather(*left, return_exceptions=True)


def failures(came: Mapping[str, object]) -> dict[str, OstrakaError]:
    """Return the error of each party that did not answer."""
    return {site: error for site, error in came.items() if isinstance(error, OstrakaError)}


def unreachable(peers: Mapping[str, AsyncPeer], sites: Iterable[str]) -> dict[str, OstrakaError]:
    """Probe the `sites` concurrently; return the error of each one that cannot be reached."""
    return failures(run_async(ask_all(sites, lambda site: peers[site].probe())))


def _wait_for_all(asked: Mapping[str, Future[T | OstrakaError]], seconds: float) -> bool:
    """Wait at most `seconds` for all calls; return whether any is unfinished."""
    return bool(wait(asked.values(), seconds).not_done)


def _cut_off(asked: Mapping[str, Future[T | OstrakaError]], cut: Callable[[str], None]) -> None:
    """End all calls: `cut` is called repeatedly for each call in progress until it has ended."""
    under_way = {site: one for site, one in asked.items() if not one.cancel()}
    while under_way := {site: one for site, one in under_way.items() if not one.done()}:
        for site in under_way:
            cut(site)
        wait(under_way.values(), LOOK_EVERY_S)


def _gave_nothing(asked: Future[T | OstrakaError]) -> bool:
    """Whether the party had not answered before it was cut off."""
    return asked.cancelled() or isinstance(asked.result(), OstrakaError)
