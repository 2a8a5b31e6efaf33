"""`ostraka site check`: every check of a site, those that wait at once."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path

from common.clock import Clock, SystemClock
from common.config import load_site
from common.errors import OstrakaError
from deploy.site.checks import certificates, ledger, machine, peers, port, settings, teaching
from deploy.site.checks.finding import Finding, Place, failed, ok

FAILED = "failed"
SETTINGS = "site.toml"
THREADS = 16
Check = Callable[[], Finding | Sequence[Finding]]


def preflight(
    folder: Path, told: Callable[[int, int], None] = lambda done, total: None, *, clock: Clock | None = None
) -> list[Finding]:
    """Check what a site needs to run.

    Args:
        folder: the site's.
        told: how many checks are done, of how many.
        clock: this machine's; the system's if None.

    Returns:
        Findings in the order in which to put things right.
    """
    clock = clock or SystemClock()
    try:
        site = load_site(folder)
    except OstrakaError as error:
        return [failed(SETTINGS, error.message)]
    certified, credentials = certificates.certificates(site, clock)
    first = [
        ok(SETTINGS, f"{site.site} is {site.role} of federation {site.federation}."),
        certificates.anchor(site),
        certificates.key_files(site),
        certified,
    ]
    return first + _run(list(_checks(Place(folder, site, credentials, clock))), told)


def _checks(place: Place) -> Iterator[Check]:
    folder, role = place.folder, place.site.role
    yield partial(settings.tables, folder, role)
    if place.site.listen:
        yield partial(port.port, place.site)
    for peer in peers.peers(place):
        yield partial(peers.peer, place, peer)
    for path in _kept(place):
        yield partial(machine.disk, path)
    yield machine.memory
    if role == "party":
        yield partial(machine.device, folder)
        yield lambda: teaching.task_file(teaching.party_task(folder))
        yield partial(teaching.records, folder)
        yield partial(teaching.teachers, folder)
    if role == "query":
        yield partial(teaching.task_file, folder / teaching.TASK_FILE)
    if role == "guardian":
        yield partial(ledger.ledger, folder)
        yield partial(ledger.ledger_key, folder)


def _kept(place: Place) -> Iterator[Path]:
    """Folders in which a site keeps what it must not lose."""
    yield place.folder
    if place.site.role != "guardian":
        return
    from guardian.ledger.site import ledger_location

    where = ledger_location(place.folder)
    if isinstance(where, Path) and where.parent != place.folder:
        yield where.parent


def _run(checks: Sequence[Check], told: Callable[[int, int], None]) -> list[Finding]:
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(_found, check) for check in checks]
        for done, _ in enumerate(as_completed(futures), 1):
            told(done, len(checks))
    return [finding for future in futures for finding in future.result()]


def _found(check: Check) -> Sequence[Finding]:
    try:
        found = check()
    except OstrakaError as error:
        return [failed(SETTINGS, error.message)]
    return [found] if isinstance(found, Finding) else found
