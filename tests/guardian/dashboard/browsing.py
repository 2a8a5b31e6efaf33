"""A browser for tests of the console: real requests to a real console on loopback."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import httpx

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig, write_site
from ostraka.guardian.dashboard.console_server import running
from tests.guardian.federation import FEDERATION, Calls, Federation


@dataclass
class Browser:
    """One browser at one console, in an administrator's place."""

    client: httpx.Client
    urls: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return str(self.client.base_url).rstrip("/")

    def enter(self) -> httpx.Response:
        """Open the latest URL that the console printed."""
        return self.client.get(self.urls[-1], follow_redirects=True)

    def text(self, path: str, status: int = 200) -> str:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.text

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', self.text("/audit"))
        assert found is not None
        return found[1]

    def post(self, path: str, status: int = 200, **fields: Any) -> httpx.Response:
        """Send a form as a page of the console would."""
        files = {name: fields.pop(name) for name in list(fields) if isinstance(fields[name], bytes)}
        answer = self.client.post(
            path,
            data={"csrf": self.csrf(), **fields},
            files=files or None,
            headers={"origin": self.origin},
        )
        assert answer.status_code == status, answer.text
        return answer

    def change(self, name: str, reason: str, **fields: Any) -> httpx.Response:
        """Fill in a form, confirm what it shows, and return the result."""
        shown = self.post(f"/change/{name}", reason=reason, **fields)
        return self.post(f"/change/{name}/apply", 303, **hidden(shown.text))


def hidden(page: str) -> dict[str, str]:
    """Return the content of a page's hidden fields, except the secret of forms."""
    found = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found if name != "csrf"}


def problem(page: str) -> str:
    """Return the message of a page that shows a refusal."""
    found = re.search(r'role="alert">([^<]*)<', page)
    assert found is not None, page
    return unescape(found[1])


def admin_folder(federation: Federation, guardian: Calls) -> Path:
    """Return the administrator's site folder, complete."""
    folder = federation.root / "ops-admin"
    write_site(
        SiteConfig(federation=FEDERATION, site="ops", role="admin", guardian=guardian.address, folder=folder)
    )
    return folder


@contextmanager
def browsing(
    folder: Path,
    *,
    allow_changes: bool = False,
    clock: Clock | None = None,
    entered: bool = True,
    ledger_key: Path | None = None,
) -> Iterator[Browser]:
    """Open a browser at its own console; it enters by the first URL unless `entered` is False."""
    urls: list[str] = []
    shown: dict[str, Any] = {"allow_changes": allow_changes, "clock": clock, "ledger_key": ledger_key}
    with (
        running(folder, "127.0.0.1:0", tell=urls.append, **shown) as address,
        httpx.Client(base_url=f"http://{address}") as client,
    ):
        browser = Browser(client, urls)
        if entered:
            assert browser.enter().status_code == 200
        yield browser
