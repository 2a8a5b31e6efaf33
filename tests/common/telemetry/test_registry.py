import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
import structlog
from prometheus_client import CollectorRegistry, Counter

from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity, Role
from ostraka.common.telemetry import scraping
from ostraka.common.telemetry.registry import FRESH_S, Fresh, serving_metrics
from ostraka.common.telemetry.site import DAY_S, observing
from tests.addresses import free_ports
from tests.common.federation import NAME, Federation
from tests.fair_clock import HANGS_S
from tests.waiting import until


@pytest.fixture
def port() -> int:
    (free,) = free_ports(1)
    return free


def site(folder: Path, telemetry: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    write_site(SiteConfig(federation=NAME, site="a", role="query", guardian="127.0.0.1:7000", folder=folder))
    with (folder / "site.toml").open("a") as file:
        file.write(f"\n[telemetry]\n{telemetry}\n")
    return folder


def scrape(port: int) -> str:
    with urlopen(f"http://127.0.0.1:{port}/metrics") as reply:
        return str(reply.read().decode())


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=60)


def is_scraped(port: int) -> bool:
    try:
        return bool(scrape(port))
    except OSError:
        return False


def test_metrics_are_served_within_the_block(tmp_path: Path, port: int) -> None:
    with serving_metrics(site(tmp_path, f'metrics = "127.0.0.1:{port}"')) as registry:
        Counter("ostraka_test", "A test.", registry=registry).inc(3)
        assert "ostraka_test_total 3.0" in scrape(port)
    with pytest.raises(URLError):
        scrape(port)


def test_no_more_connections_are_served_at_a_time_than_may(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scraping._SilentHandler, "timeout", HANGS_S)
    with serving_metrics(site(tmp_path, f'metrics = "127.0.0.1:{port}"')), ExitStack() as held:
        for _ in range(scraping.MAX_SCRAPES):
            held.enter_context(connect(port))
        with connect(port) as refused:
            assert refused.recv(1) == b""
        held.close()
        until(lambda: is_scraped(port))


def test_a_silent_connection_is_given_up(tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scraping._SilentHandler, "timeout", 0.01)
    with serving_metrics(site(tmp_path, f'metrics = "127.0.0.1:{port}"')), connect(port) as silent:
        assert silent.recv(1) == b""


def test_nothing_is_served_without_being_asked_for(tmp_path: Path) -> None:
    own = CollectorRegistry()
    with serving_metrics(site(tmp_path), own) as registry:
        assert registry is own


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        with (
            pytest.raises(OstrakaError, match=where) as refused,
            serving_metrics(site(tmp_path, f'metrics = "{where}"')),
        ):
            pass
    assert refused.value.code is ErrorCode.SERVER_PORT_IN_USE


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ('metrics = "nowhere"', "is not an address"),
        ('metrics = "192.0.2.1:9100"', "Cannot serve metrics at"),
        ("metric = 1", "no such key"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused, serving_metrics(site(tmp_path, line)):
        pass
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_a_site_tells_its_version_and_certificates(tmp_path: Path) -> None:
    federation = Federation(tmp_path / "federation")
    own = federation.issue(Identity(NAME, "a", Role.QUERY), days=3)
    with observing(site(own.folder), CollectorRegistry()) as registry:
        days = registry.get_sample_value("ostraka_certificate_days_left", {"certificate": "tls"})
        assert days == pytest.approx((own.expires_unix_s - federation.clock.now()) / DAY_S, abs=0.01)
        assert registry.get_sample_value("ostraka_revocation_list_number") == 0
        (build,) = (metric for metric in registry.collect() if metric.name == "ostraka_build")
        assert build.samples[0].labels["role"] == "query"
        assert registry.get_sample_value("ostraka_disk_free_bytes") is not None


def test_a_site_without_certificates_still_tells_the_rest(tmp_path: Path) -> None:
    with observing(site(tmp_path), CollectorRegistry()) as registry:
        names = {metric.name for metric in registry.collect()}
    assert names == {"ostraka_build", "ostraka_disk_bytes", "ostraka_disk_free_bytes"}


def test_what_was_read_is_read_again_when_it_is_old() -> None:
    now, reads = [0.0], []

    def read() -> int:
        reads.append(now[0])
        return len(reads)

    fresh = Fresh(read, lambda: now[0])
    values = []
    for at in (0.0, FRESH_S - 1, FRESH_S, FRESH_S + 1):
        now[0] = at
        values.append(fresh.value())
    assert values == [1, 1, 2, 2]


def test_what_cannot_be_read_is_missing_and_logged_by_code_alone() -> None:
    def read() -> int:
        raise OstrakaError(ErrorCode.LEDGER_UNREACHABLE, "The database at db:5432 is away.")

    with structlog.testing.capture_logs() as logs:
        assert Fresh(read).value() is None
    assert logs == [{"event": "metrics.unread", "code": "ledger.unreachable", "log_level": "warning"}]
