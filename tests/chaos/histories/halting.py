"""A ledger at which a service stops before it writes, so that anything may happen in between."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ostraka.guardian.ledger import Ledger


class Halting:
    """Replaces a ledger and keeps the first write that it is asked for.

    Attributes:
        asked: arguments of the write; empty if there was none.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._write: Callable[[], Any] = lambda: None
        self.asked: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def write(self, *asked: Any, **named: Any) -> Any:
        self._halt(self._ledger.write, asked, named)

    def write_as(self, *asked: Any, **named: Any) -> Any:
        self._halt(self._ledger.write_as, asked, named)

    def write_session(self, *asked: Any, **named: Any) -> Any:
        self._halt(self._ledger.write_session, asked, named)

    def until_written(self, service: Callable[..., Any], *request: Any) -> None:
        """Call a service until its first write, or to its end if it writes nothing."""
        with suppress(_HaltedError):
            service(*request)

    def write_now(self) -> Any:
        """Make the kept write and return its result."""
        return self._write()

    def _halt(self, write: Callable[..., Any], asked: tuple[Any, ...], named: dict[str, Any]) -> None:
        self.asked = asked
        self._write = lambda: write(*asked, **named)
        raise _HaltedError


class _HaltedError(Exception):
    """Not an error: the write is to be made later."""
