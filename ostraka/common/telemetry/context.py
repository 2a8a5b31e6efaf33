"""Context of logs and traces, kept while work moves between threads, or waits for work of its own."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import copy_context
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


class Scope:
    """Context managers held over several calls beside other work of a thread, in a context of their own."""

    def __init__(self, *managers: AbstractContextManager[object]) -> None:
        self._context = copy_context()
        self._managers = ExitStack()
        for manager in managers:
            self._context.run(self._managers.enter_context, manager)

    def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what a call does within the managers; they end with what it raises."""
        try:
            return self._context.run(call, *args, **kwargs)
        except BaseException as error:
            self._context.run(self._managers.__exit__, type(error), error, error.__traceback__)
            raise

    def close(self) -> None:
        """End the managers, if they have not."""
        self._context.run(self._managers.close)
