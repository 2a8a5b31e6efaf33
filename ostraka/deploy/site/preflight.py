"""`ostraka site check`: every check of a site; checks that wait for servers run at once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import load_site
from ostraka.common.console.cli import missing_package
from ostraka.common.errors import OstrakaError
from ostraka.common.relay.section import load_relay_section
from ostraka.deploy.site import certificate_check, machine_check, peer_check, relay_check, role_check
from ostraka.deploy.site.finding import Finding, Place, failure, ok

FAILED = "failed"
SETTINGS = "site.toml"
PACKAGES = "packages"
THREADS = 16  # servers that wait for their timeouts do so together; they use no processor
Check = Callable[[], Finding | Sequence[Finding]]


def preflight(
    folder: Path,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    *,
    clock: Clock | None = None,
) -> list[Finding]:
    """Check what a site needs to run.

    Args:
        folder: the site's.
        on_progress: called with the number of finished checks and of all checks.
        clock: this machine's; the system's if None.

    Returns:
        Findings in the order in which to fix them.
    """
    clock = clock or SystemClock()
    try:
        site = load_site(folder)
    except OstrakaError as error:
        return [failure(SETTINGS, error.message)]
    certified, credentials = certificate_check.certificates(site, clock)
    first = [
        ok(SETTINGS, f"{site.site} is {site.role} of federation {site.federation}."),
        certificate_check.anchor(site),
        certificate_check.key_files(site),
        certified,
        *(certificate_check.revocation_lists(credentials) if credentials else ()),
    ]
    place = Place(folder, site, credentials, clock)
    try:
        with _call_by_relay(place) as called:
            return first + _run(list(_waiting(place, called)), list(_computing(place)), on_progress)
    except OstrakaError as error:
        return [*first, failure(SETTINGS, error.message)]


@contextmanager
def _call_by_relay(place: Place) -> Iterator[Place]:
    """Yield the place with the addresses for calling others, through the relay if site.toml says so."""
    if place.credentials is None or place.site.role == "relay" or not load_relay_section(place.site).address:
        yield place
        return
    from ostraka.common.relay.agent_process import attach_to_relays

    with attach_to_relays(place.site) as (site, _):
        yield replace(place, site=site)


def _waiting(place: Place, called: Place) -> Iterator[Check]:
    """Yield checks that wait for servers; they import nothing, because imports in threads could deadlock."""
    if place.site.listen:
        yield partial(machine_check.port, place.site)
    for name, address in relay_check.relays(place):
        yield partial(relay_check.relay, place, name, address)
    for peer in peer_check.peers(called):
        yield partial(peer_check.peer, called, peer)


def _computing(place: Place) -> Iterator[Check]:
    folder = place.folder
    role = place.site.role
    yield partial(role_check.tables, folder, role)
    yield partial(machine_check.disk, folder)
    yield machine_check.memory
    if role == "party":
        yield partial(machine_check.device, folder)
        yield lambda: role_check.task_file(role_check.party_task(folder))
        yield partial(role_check.records, folder)
        yield partial(role_check.teachers, folder)
    if role == "query":
        yield partial(role_check.task_file, folder / role_check.TASK_FILE)
    if role == "guardian":
        yield partial(role_check.noise, place.site)
        yield partial(role_check.ledger, folder)
        yield partial(role_check.ledger_key, folder)


def _run(
    waiting: Sequence[Check], computing: Sequence[Check], on_progress: Callable[[int, int], None]
) -> list[Finding]:
    everything = len(waiting) + len(computing)
    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(_run_check, check) for check in waiting]
        computed = []
        for done, check in enumerate(computing, 1):
            computed.append(_run_check(check))
            on_progress(done, everything)
        for done, _ in enumerate(as_completed(futures), len(computing) + 1):
            on_progress(done, everything)
    tables, *others = computed
    return _once(chain(tables, *(future.result() for future in futures), *others))


def _once(findings: Iterable[Finding]) -> list[Finding]:
    """Remove mistakes that another check has already named."""
    kept: dict[object, Finding] = {}
    for finding in findings:
        kept.setdefault(finding.sentence if finding.state == FAILED else finding, finding)
    return list(kept.values())


def _run_check(check: Check) -> Sequence[Finding]:
    try:
        found = check()
    except OstrakaError as error:
        return [failure(SETTINGS, error.message)]
    except ModuleNotFoundError as error:
        if (missing := missing_package(error)) is None:
            raise
        return [failure(PACKAGES, missing.message)]
    return [found] if isinstance(found, Finding) else found
