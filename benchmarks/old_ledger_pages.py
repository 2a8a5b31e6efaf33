"""Time of start, verification, pages and changes of a guardian with a ten-year-old ledger."""

import secrets
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.cookiejar import CookieJar
from pathlib import Path
from queue import SimpleQueue

from prometheus_client import CollectorRegistry, generate_latest

from benchmarks import old_ledger
from benchmarks.old_ledger import FEDERATION, PARTIES, QUERIES, YEAR_S, OldSite
from ostraka.common.clock import SystemClock
from ostraka.common.identity.credentials import CA_CERT
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.admin.report import read_report
from ostraka.guardian.admin.upkeep import verify_archives, write_archive
from ostraka.guardian.dashboard import console_server
from ostraka.guardian.ledger import BudgetTerms, Charge, StoredSession, UnitKey, open_guardian_ledger, verify
from ostraka.guardian.ledger.sessions import batches, releases, session_opening
from ostraka.guardian.ledger.units import budgets
from ostraka.guardian.serving.server import running
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub

BATCHES = 20  # for medians and maximum waits


@dataclass
class Figures:
    """Seconds by what was timed, printed as they are measured."""

    charges: int
    seconds: dict[str, float] = field(default_factory=dict)

    def time(self, what: str, work: Callable[[], object]) -> None:
        """Time one run of `work`."""
        start = time.perf_counter()
        work()
        self.note(what, time.perf_counter() - start)

    def note(self, what: str, seconds: float) -> None:
        """Store a figure and print it."""
        self.seconds[what] = seconds
        print(f"ledger of {self.charges:,} charges: {what} {seconds:.3f} s", flush=True)


def measure(count: int) -> dict[str, float | str]:
    """Return the figures of a ledger of `count` charges to 100 parties, in SQLite."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        site = old_ledger.make(Path(folder), count)
        figures = Figures(site.charges)
        print(f"made in {time.perf_counter() - start:.0f} s: {site.ledger.stat().st_size / 1e6:.0f} MB")
        ca_pem = site.credentials.ca_pem
        with _start(site, figures, "first start"):
            pass
        with _start(site, figures, "start") as (address, registry):
            figures.time("metrics", lambda: generate_latest(registry))
            _read(site.administrator(address), site.session_id, figures)
        _change(site, figures)
        figures.time("audit verify", lambda: verify(site.ledger, ca_pem=ca_pem, federation=FEDERATION))
        _archive(site, figures)
    return {"backend": "sqlite", "history": site.charges, **figures.seconds}


@contextmanager
def _start(site: OldSite, figures: Figures, what: str) -> Iterator[tuple[str, CollectorRegistry]]:
    """Run the guardian, and measure how long it takes until it serves."""
    start = time.perf_counter()
    registry = CollectorRegistry()
    with running(site.guardian, registry=registry) as address:
        figures.note(what, time.perf_counter() - start)
        yield address, registry


def _read(admin: Path, session_id: str, figures: Figures) -> None:
    """Time the administrators' reads."""
    of_session = admin_pb2.ListChargesRequest(session_id=session_id)
    shown = admin_pb2.ShowSessionRequest(session_id=session_id)

    def call(ask: Callable[[AdminStub], object]) -> Callable[[], object]:
        return lambda: admin_call(admin, ask)

    figures.time(
        "session show", call(lambda stub: (stub.ShowSession(shown), list(stub.ListCharges(of_session))))
    )
    figures.time("session list", call(lambda stub: list(stub.ListSessions(admin_pb2.ListSessionsRequest()))))
    figures.time("budget list", call(lambda stub: list(stub.ListBudgets(admin_pb2.ListBudgetsRequest()))))
    year = int((time.time() - YEAR_S) * 1000)
    now = int(time.time() * 1000)
    for what, begin in (("the last year's charges", year), ("all charges", 0)):
        start = time.perf_counter()
        longest = admin_call(admin, _ChargesSince(begin))
        figures.note(what, time.perf_counter() - start)
        figures.note(f"{what}, longest wait for a message", longest)
    figures.time("report of the last year", call(lambda stub: read_report(stub, FEDERATION, now, year, 0)))
    figures.time("report of all years", call(lambda stub: read_report(stub, FEDERATION, now, 0, 0)))
    _browse(admin, session_id, figures)


@dataclass(frozen=True)
class _ChargesSince:
    """Reads charges from a time (unix milliseconds)."""

    begin: int

    def __call__(self, stub: AdminStub) -> float:
        """Return the longest wait for the first or the next message, in seconds."""
        longest = 0.0
        before = time.perf_counter()
        for _ in stub.ListCharges(admin_pb2.ListChargesRequest(from_unix_ms=self.begin)):
            now = time.perf_counter()
            longest = max(longest, now - before)
            before = now
        return longest


def _browse(admin: Path, session_id: str, figures: Figures) -> None:
    """Time the console's pages."""
    told: SimpleQueue[str] = SimpleQueue()
    browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
    with console_server.running(admin, "127.0.0.1:0", tell=told.put) as address:
        browser.open(told.get()).read()
        for page in ("", "sessions", f"session/{session_id}", "party/party-010"):
            name = page.partition("/")[0] or "overview"
            start = time.perf_counter()
            browser.open(f"http://{address}/{page}").read()
            figures.note(f"console: {name}", time.perf_counter() - start)


def _archive(site: OldSite, figures: Figures) -> None:
    """Time an archive of all years: made and verified, verified alone, and verified with the ledger."""
    path = site.root / "archive.jsonl.gz"
    ca = site.guardian / CA_CERT
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    figures.time("ledger archive", lambda: write_archive(site.guardian, path, today, None))
    print(f"an archive of {path.stat().st_size / 1e6:.0f} MB")
    figures.time("verify the archive", lambda: verify_archives([path], ca, None))
    figures.time("verify the archive and the ledger", lambda: verify_archives([path], ca, site.ledger))


def _change(site: OldSite, figures: Figures) -> None:
    """Time transactions that change all units."""
    keys = [UnitKey(f"party-{number:03d}", "all", "record") for number in range(PARTIES)]
    with open_guardian_ledger(site.guardian, site.credentials, SystemClock()) as ledger:
        lower = BudgetTerms(9e8, 1e-5, 8.0, "worst_case")
        figures.time("set a budget", lambda: ledger.write(budgets.set_budget, keys[0], lower))
        session = StoredSession("last", "q", b"plan", b"last", b"grant", BATCHES * QUERIES)
        session_opening.open_session(ledger, session)
        opening = releasing = 0.0
        for batch in range(BATCHES):
            start = time.perf_counter()
            ledger.write_session("last", batches.open_batch, batch, QUERIES, b"t", dict.fromkeys(keys, 1000))
            opened = time.perf_counter()
            charged = [Charge(key, 1000, 500) for key in keys]
            asked = (batch, secrets.token_bytes(32), b"answers", charged)
            ledger.write_session("last", releases.release, *asked, answered=QUERIES)
            opening = opening + opened - start
            releasing = releasing + time.perf_counter() - opened
        figures.note("open a batch", opening / BATCHES)
        figures.note("release a batch", releasing / BATCHES)
