"""Makes a process die between two statements of a transaction, or before it commits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Engine, event

from tests.chaos.turns import Killed

_armed: list[Callable[[], None]] = []


@contextmanager
def dying(at: int, die: Callable[[], None]) -> Iterator[None]:
    """Call `die` before the block's `at`-th statement or commit, which is then never executed."""
    left = at

    def count() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            die()
            raise Killed

    _armed.append(count)
    try:
        yield
    finally:
        _armed.remove(count)


def _count(*_: Any) -> None:
    for count in list(_armed):
        count()


event.listen(Engine, "before_cursor_execute", _count)
event.listen(Engine, "commit", _count)
