"""Many parties asked at once: for what each of them answers, or why it does not.

Whatever is raised while one is asked is that party's failure; an interruption of this process ends all.
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
    """Ask the `sites`, as many at once as `pool` has threads, and wait for all answers or failures.

    Those that are too late for `waiting` are cut off: `party.unreachable`. `cut` ends the calls to one that
    are under way. By default all are waited for.
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
    """Ask the `sites` at once; no thread waits for them.

    Those that are too late for `waiting` are cut off: `party.unreachable`. By default all are waited for.
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
    """Return why each party that gave no answer gave none."""
    return {site: error for site, error in came.items() if isinstance(error, OstrakaError)}


def unreachable(peers: Mapping[str, AsyncPeer], sites: Iterable[str]) -> dict[str, OstrakaError]:
    """Return which of the `sites` cannot be reached, and why; they are probed at once."""
    return failures(run_async(ask_all(sites, lambda site: peers[site].probe())))


def _wait_for_all(asked: Mapping[str, Future[T | OstrakaError]], seconds: float) -> bool:
    """Wait so long for all; whether any has not answered."""
    return bool(wait(asked.values(), seconds).not_done)


def _cut_off(asked: Mapping[str, Future[T | OstrakaError]], cut: Callable[[str], None]) -> None:
    """End the asking of all: `cut` is called with each that is under way until it has ended."""
    under_way = {site: one for site, one in asked.items() if not one.cancel()}
    while under_way := {site: one for site, one in under_way.items() if not one.done()}:
        for site in under_way:
            cut(site)
        wait(under_way.values(), LOOK_EVERY_S)


def _gave_nothing(asked: Future[T | OstrakaError]) -> bool:
    """Whether no answer came while a party was cut off."""
    return asked.cancelled() or isinstance(asked.result(), OstrakaError)
