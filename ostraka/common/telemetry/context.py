"""Context of logs and traces, kept when work moves to another thread or is interleaved with other work."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import copy_context
from typing import ParamSpec, TypeVar

import structlog

P = ParamSpec("P")
T = TypeVar("T")


@contextmanager
def about(session: str, batch: int) -> Iterator[None]:
    """Name this session and batch in all log lines of the block."""
    with structlog.contextvars.bound_contextvars(session=session, batch=batch):
        yield


def carrying(call: Callable[P, T]) -> Callable[P, T]:
    """Return `call` with this thread's context; another thread can call it once."""
    context = copy_context()

    def run_there(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.run(call, *args, **kwargs)

    return run_there


class Scope:
    """Context managers held over several calls, in a context separate from the thread's other work."""

    def __init__(self, *managers: AbstractContextManager[object]) -> None:
        self._context = copy_context()
        self._managers = ExitStack()
        for manager in managers:
            self._context.run(self._managers.enter_context, manager)

    def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return the result of a call within the managers; if it raises, the managers end with that error."""
        try:
            return self._context.run(call, *args, **kwargs)
        except BaseException as error:
            self._context.run(self._managers.__exit__, type(error), error, error.__traceback__)
            raise

    def close(self) -> None:
        """End the managers if they have not ended."""
        self._context.run(self._managers.close)
