"""Context of logs and traces, kept while work moves between threads, or waits for work of its own."""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import copy_context
from inspect import GEN_CLOSED, getgeneratorstate
from typing import ParamSpec, TypeVar

import structlog

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def about(session: str, batch: int) -> Iterator[None]:
    """Log lines of the block name this session and batch."""
    with structlog.contextvars.bound_contextvars(session=session, batch=batch):
        yield


def carrying(call: Callable[P, T]) -> Callable[P, T]:
    """`call`, to be made once by another thread, about what this one's work is about."""
    context = copy_context()

    def run_there(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.run(call, *args, **kwargs)

    return run_there


class Stages:
    """Work that yields where other work of the same thread may go on, in a context of its own."""

    def __init__(self, work: Generator[None, None, None]) -> None:
        self._work = work
        self._context = copy_context()

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return getgeneratorstate(self._work) == GEN_CLOSED

    def go_on(self) -> None:
        """Do the work up to where it yields next, or to its end; nothing once it has ended."""
        self._context.run(next, self._work, None)

    def finish(self) -> None:
        """Do the rest of the work."""
        self._context.run(list, self._work)

    def close(self) -> None:
        """Leave the work undone where it is."""
        self._context.run(self._work.close)
