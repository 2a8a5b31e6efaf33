"""The pages of an administrator's console, requested as by a browser."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Self

import httpx

from ostraka.guardian.dashboard.console_server import running
from tests.fuzz.administrator_clients import ADMIN, RARELY, AdministratorClients
from tests.fuzz.clients import Client
from tests.fuzz.methods import answered_by

BROKEN = 500
"""Status of a page for which the console had an internal error."""
PAGE_S = 120.0
"""How long a browser waits for a page: a campaign has its own limits."""
PAGES: Mapping[str, tuple[str, ...]] = {
    "/": ("ListParties", "ListBudgets", "ShowPolicy", "Head"),
    "/party/spare": ("ListParties", "ListBudgets", "BudgetHistory"),
    "/sessions": ("ListSessions",),
    "/session/s": ("ShowSession", "ListCharges"),
    "/policy": ("ShowPolicy", "ListBudgets", "ExportAudit", "Head"),
    "/audit": ("Head", "ExportAudit"),
    "/confidential": ("ListSealedCharges", "ListBudgets"),
    "/downloads/charges.csv": ("ListCharges",),
    "/downloads/audit.jsonl": ("ExportAudit",),
    "/downloads/audit-head.pb": ("Head",),
}
"""The calls to the guardian for each page."""


class BrokenPageError(Exception):
    """A page that failed: the console had an internal error, which its log names."""


class ConsoleClients:
    """A browser connected to a console; leaving the context ends both."""

    def __init__(self, commands: AdministratorClients, key: Path) -> None:
        """Take the answers to an administrator's commands, and the ledger's key."""
        self._commands = commands
        self._key = key
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start the console, and log the browser in."""
        urls: list[str] = []
        shown = running(self._commands.site, "127.0.0.1:0", tell=urls.append, ledger_key=self._key)
        address = self._stack.enter_context(shown)
        self._browser = self._stack.enter_context(httpx.Client(base_url=f"http://{address}", timeout=PAGE_S))
        self._browser.get(urls[-1], follow_redirects=True)
        return self

    def __exit__(self, *_: object) -> None:
        """End the browser and the console."""
        self._stack.close()

    def clients(self) -> Iterator[Client]:
        """Yield a client for every call that a page makes."""
        beside = self._commands.answers()
        for page, names in PAGES.items():
            for name in names:
                yield Client(
                    f"{name} for the console's {page}",
                    answered_by(f"{ADMIN}{name}"),
                    "guardian",
                    beside[f"{ADMIN}{name}"],
                    partial(self._open, page),
                    beside=beside,
                    weight=RARELY / 2,
                    lists=True,
                )

    def _open(self, page: str) -> None:
        if self._browser.get(page).status_code == BROKEN:
            raise BrokenPageError(page)
