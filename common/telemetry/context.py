"""Context of logs and traces, kept while work moves between threads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

    def carried(*args: P.args, **kwargs: P.kwargs) -> T:
        return context.run(call, *args, **kwargs)

    return carried
