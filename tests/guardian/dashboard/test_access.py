"""Who is let into the console by a token, and for how long."""

from pathlib import Path

import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import OstrakaError
from ostraka.guardian.dashboard.access import COOKIE, IDLE_S, REFRESH
from ostraka.guardian.dashboard.console_server import running
from tests.guardian.dashboard.browsing import Browser, browsing, problem
from tests.guardian.federation import Federation

PAGES = (
    "/",
    "/party/a",
    "/sessions",
    "/session/x",
    "/policy",
    "/audit",
    "/downloads",
    "/downloads/charges.csv",
)


def refusal(folder: Path, listen: str) -> str:
    """Return the code that a console is refused with."""
    with pytest.raises(OstrakaError) as refused, running(folder, listen, tell=print):
        pass
    return str(refused.value.code)


def test_a_token_opens_the_console_once(reader: Browser) -> None:
    used = reader.urls[0]
    reader.client.cookies.clear()
    again = reader.client.get(used)
    assert again.status_code == 403
    assert "was used" in problem(again.text)
    assert reader.client.get("/").status_code == 401


@pytest.mark.heavy
def test_the_next_token_is_told_to_who_has_the_terminal(reader: Browser) -> None:
    reader.client.cookies.clear()
    refused = reader.client.get("/")
    assert len(reader.urls) == 2
    assert reader.urls[1].partition("=")[2] not in refused.text
    for _ in range(3):
        reader.client.get("/")
    assert len(reader.urls) == 2
    assert reader.enter().status_code == 200


def test_nobody_sees_a_page_without_a_token(folder: Path) -> None:
    with browsing(folder, entered=False) as stranger:
        stranger.client.cookies.set(COOKIE, "guessed")
        for path in PAGES:
            assert stranger.client.get(path).status_code == 401
        assert stranger.client.get("/enter?token=guessed").status_code == 403
        assert stranger.client.get("/enter").status_code == 403


def test_the_cookie_is_kept_from_scripts_and_other_sites(folder: Path) -> None:
    with browsing(folder, entered=False) as browser:
        cookie = browser.client.get(browser.urls[0]).headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}


def test_an_idle_browser_is_forgotten_and_refreshing_does_not_count(folder: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with browsing(folder, clock=clock) as browser:
        clock.advance(IDLE_S - 1)
        browser.text("/downloads")
        clock.advance(IDLE_S - 1)
        assert browser.client.get("/downloads", headers={REFRESH: "1"}).status_code == 200
        clock.advance(2)
        browser.text("/downloads", 401)


def test_a_browser_that_left_is_out(reader: Browser) -> None:
    cookie = reader.client.cookies[COOKIE]
    assert "You have left" in reader.post("/leave").text
    reader.client.cookies.set(COOKIE, cookie)
    reader.text("/", 401)


@pytest.mark.parametrize("listen", ["0.0.0.0:0", "example.org:1"])
def test_without_tls_only_loopback_is_served(federation: Federation, listen: str) -> None:
    site = SiteConfig(
        federation="test",
        site="ops",
        role="admin",
        guardian="127.0.0.1:1",
        folder=federation.root / "ops-admin",
    )
    write_site(site)
    assert refusal(site.folder, listen) == "server.insecure_refused"


def test_a_port_that_is_taken(reader: Browser, folder: Path) -> None:
    assert refusal(folder, reader.origin.removeprefix("http://")) == "server.port_in_use"


def test_the_folder_must_be_an_administrators(federation: Federation) -> None:
    assert refusal(federation.guardian_folder, "127.0.0.1:0") == "identity.wrong_role"
