"""A querying site's folder: who it is, whom it calls, which task it has."""

from collections.abc import Collection, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.party_peer import PartyChannel, PartyPeer
from ostraka.client.peers.retry import Retry
from ostraka.client.peers.voter import Voter
from ostraka.client.run.open_files import allow_open_files
from ostraka.client.session.asking import ask_all
from ostraka.client.session.batch import Peers
from ostraka.client.session.permissions import Permissions
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig, load_site
from ostraka.common.crypto.logits import HEADS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import open_async_channel, open_channel
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.watcher import Target
from ostraka.common.task import Task, load_task

TASK_FILE = "task.toml"
P = TypeVar("P", bound=PartyChannel)


def load_query_site(folder: Path) -> SiteConfig:
    """Return the configuration of a querying site; raise `config.invalid` for another role's folder."""
    site = load_site(folder)
    if site.role != "query":
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{folder} acts as {site.role}: name the folder of a querying site.",
        )
    return site


def load_site_task(folder: Path, file: Path | None = None) -> Task:
    """Return the task in `file`, or in the site folder's task.toml."""
    return load_task(file or folder / TASK_FILE)


@contextmanager
def connect_guardian(site: SiteConfig, clock: Clock, retry: Retry) -> Iterator[GuardianPeer]:
    """Connect to the guardian over mTLS; calls under way end when the block is left."""
    credentials = Credentials.of(site)
    credentials.check_valid(clock)
    connect = partial(open_channel, credentials, expected=guardian_of(site), clock=clock)
    with closing(Replicas(connect, site.guardian)) as replicas:
        yield GuardianPeer(replicas, retry)


@contextmanager
def connect(site: SiteConfig, sites: tuple[str, ...], clock: Clock, retry: Retry) -> Iterator[Peers]:
    """Connect to the guardian and the parties `sites` over mTLS; calls under way end with the block."""
    with ExitStack() as stack:
        connected = connect_parties(site, sites, PartyPeer, clock, retry, threads=len(sites) + len(HEADS))
        parties, pool = stack.enter_context(connected)
        yield Peers(
            guardian=stack.enter_context(connect_guardian(site, clock, retry)),
            voters=stack.enter_context(_voters(site, sites, clock, retry, pool)),
            parties=parties,
            permissions=Permissions(Credentials.of(site), guardian_of(site), clock),
            pool=pool,
        )


@contextmanager
def _voters(
    site: SiteConfig, sites: Collection[str], clock: Clock, retry: Retry, pool: Executor
) -> Iterator[dict[str, Voter]]:
    credentials = Credentials.of(site)
    voters = {}
    for name in sites:
        target = Target(site.parties[name], Identity(site.federation, name, Role.PARTY), credentials)
        connect = partial(open_async_channel, credentials, target.address, target.expected, clock=clock)
        voters[name] = Voter(target, connect, retry, pool)
    try:
        yield voters
    finally:
        run_async(ask_all(voters, lambda name: voters[name].close()))


@contextmanager
def connect_parties(
    site: SiteConfig, sites: Collection[str], kind: type[P], clock: Clock, retry: Retry, *, threads: int
) -> Iterator[tuple[dict[str, P], ThreadPoolExecutor]]:
    """Connect to the parties `sites` over mTLS, with a pool for calls; those under way end with the block."""
    credentials = Credentials.of(site)
    parties = {
        name: kind(
            name,
            partial(
                open_channel,
                credentials,
                site.parties[name],
                Identity(site.federation, name, Role.PARTY),
                clock=clock,
            ),
            retry,
        )
        for name in sites
    }
    allow_open_files(len(parties))
    with ExitStack() as stack:
        pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="party")
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for peer in parties.values():
            stack.callback(peer.close)
        yield parties, pool


def guardian_of(site: SiteConfig) -> Identity:
    """Who the guardian of a site's federation is."""
    return Identity(site.federation, site.guardian_site, Role.GUARDIAN)
