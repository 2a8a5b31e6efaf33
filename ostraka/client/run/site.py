"""A querying site's folder: its identity, servers and task, and checks of records against the task."""

from collections.abc import Collection, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.async_peer import AsyncPeer
from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.peers.party_peer import PartyPeer, Voter
from ostraka.client.peers.retry import Retry
from ostraka.client.run.pool import find_copies, require_ids
from ostraka.client.session.asking import ask_all
from ostraka.client.session.batch import Peers
from ostraka.client.session.permissions import Permissions
from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig, load_section, load_site, require_role
from ostraka.common.crypto.logits import HEADS
from ostraka.common.errors import OstrakaError
from ostraka.common.files.open_files import allow_open_files
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.learning.encoders import Encoder, load_encoder
from ostraka.common.relay.agent_process import attach_to_relays
from ostraka.common.rpc import open_async_channel, open_channel
from ostraka.common.rpc.redirect import Replicas
from ostraka.common.rpc.watcher import Target
from ostraka.common.task import Source, Task, load_task
from ostraka.common.validation import FrozenModel

TASK_FILE = "task.toml"
PARTIES_AT_ONCE = 64
"""Parties that are asked about encrypted queries at the same time: each one needs a thread."""

A = TypeVar("A", bound=AsyncPeer)


def load_query_site(folder: Path) -> SiteConfig:
    """Return the configuration of a querying site; raise `config.invalid` for another role's folder."""
    require_role(folder, "query")
    return load_site(folder)


def load_site_task(folder: Path, file: Path | None = None) -> Task:
    """Return the task in `file`, or in the site folder's task.toml."""
    return load_task(file or folder / TASK_FILE)


def load_class_task(what: str, folder: Path, file: Path | None = None) -> Task:
    """Return the task as `load_site_task`; raise `task.numeric` if it lacks the classes that `what` needs."""
    task = load_site_task(folder, file)
    task.require_classes(what)
    return task


@contextmanager
def connect_guardian(site: SiteConfig, clock: Clock, retry: Retry) -> Iterator[GuardianPeer]:
    """Connect to the guardian over mTLS; calls in progress end when the block is left."""
    with attach_to_relays(site) as (called, _), _connect_guardian(called, clock, retry) as guardian:
        yield guardian


@contextmanager
def _connect_guardian(site: SiteConfig, clock: Clock, retry: Retry) -> Iterator[GuardianPeer]:
    credentials = Credentials.of(site)
    credentials.check_valid(clock)
    connect = partial(open_channel, credentials, expected=guardian_of(site), clock=clock)
    with closing(Replicas(connect, site.guardian)) as replicas:
        yield GuardianPeer(replicas, retry)


@contextmanager
def connect(site: SiteConfig, sites: tuple[str, ...], clock: Clock, retry: Retry) -> Iterator[Peers]:
    """Connect to the guardian and the parties `sites` over mTLS; calls in progress end with the block."""
    with ExitStack() as stack:
        site, _ = stack.enter_context(attach_to_relays(site))
        pool = stack.enter_context(threads(len(sites) + len(HEADS)))
        yield Peers(
            guardian=stack.enter_context(_connect_guardian(site, clock, retry)),
            voters=stack.enter_context(_connect_parties(site, sites, Voter, clock, retry, pool)),
            parties=stack.enter_context(_connect_encrypted(site, sites, clock, retry)),
            permissions=Permissions(Credentials.of(site), guardian_of(site), clock),
            pool=pool,
        )


@contextmanager
def connect_parties(
    site: SiteConfig, sites: Collection[str], kind: type[A], clock: Clock, retry: Retry, pool: Executor
) -> Iterator[dict[str, A]]:
    """Connect to the parties `sites` over mTLS; their calls need no threads, and end with the block.

    The `pool` examines connections that failed.
    """
    with (
        attach_to_relays(site) as (called, _),
        _connect_parties(called, sites, kind, clock, retry, pool) as parties,
    ):
        yield parties


@contextmanager
def _connect_parties(
    site: SiteConfig, sites: Collection[str], kind: type[A], clock: Clock, retry: Retry, pool: Executor
) -> Iterator[dict[str, A]]:
    credentials = Credentials.of(site)
    parties = dict[str, A]()
    allow_open_files(len(sites))
    for name in sites:
        target = Target(site.parties[name], _party(site, name), credentials)
        connect = partial(open_async_channel, credentials, target.address, target.expected, clock=clock)
        parties[name] = kind(target, connect, retry, pool)
    try:
        yield parties
    finally:
        run_async(ask_all(parties, lambda name: parties[name].close()))


@contextmanager
def threads(most: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of at most `most` or PARTIES_AT_ONCE threads; queued calls are cancelled at the end."""
    pool = ThreadPoolExecutor(min(most, PARTIES_AT_ONCE), thread_name_prefix="party")
    try:
        yield pool
    finally:
        # Without waiting: calls in progress end when their channels are closed.
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _connect_encrypted(
    site: SiteConfig, sites: Collection[str], clock: Clock, retry: Retry
) -> Iterator[dict[str, PartyPeer]]:
    credentials = Credentials.of(site)
    connect = partial(open_channel, credentials, clock=clock)
    parties = {
        name: PartyPeer(name, partial(connect, site.parties[name], _party(site, name)), retry)
        for name in sites
    }
    try:
        yield parties
    finally:
        for peer in parties.values():
            peer.close()


def _party(site: SiteConfig, name: str) -> Identity:
    return Identity(site.federation, name, Role.PARTY)


def guardian_of(site: SiteConfig) -> Identity:
    """Return the identity of the guardian of a site's federation."""
    return Identity(site.federation, site.guardian_site, Role.GUARDIAN)


@dataclass(frozen=True)
class CheckResult:
    """Records that fit the task.

    Attributes:
        task: the task's name.
        records: number of records.
        labelled: number of labelled records.
        repeated: number of records that repeat another one, and are not asked about if this is a pool.
        reading: what was guessed or left out while reading them, one sentence each.
    """

    task: str
    records: int
    labelled: int
    repeated: int
    reading: tuple[str, ...]


def check(site_folder: Path, data: Source, *, task_file: Path | None = None) -> CheckResult:
    """Compare records with the site's task.

    Unknown labels are reported, not refused, because `query label` ignores a pool's labels. Raises
    `task.mismatch` or `data.*` with the column or range that differs, or for missing or repeated ids of
    unlabelled records.
    """
    load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    pool = task.pool(data)
    told: tuple[str, ...] = ()
    try:
        own = task.records(data)
    except OstrakaError as wrong:
        # Everything except the labels was read above.
        own = pool
        told = (f"They fit as a pool alone, whose labels are not read: {wrong.message}",)
    labelled = 0 if own.y is None else len(own)
    # If some records have no label, all are a pool as well, and all are asked about.
    records = own if labelled == len(pool) else pool
    if labelled < len(pool):
        require_ids(task, records)
    copies = find_copies(task.prepare(records.X))
    return CheckResult(
        task=task.name,
        records=len(records),
        labelled=labelled,
        repeated=len(copies) - len(set(copies)),
        reading=records.read_as + told,
    )


class QuerySection(FrozenModel):
    """The table [query] of a querying site's site.toml."""

    encoder: str = ""
    """Public network that computes features of the records asked about, "module:function". Empty: none."""
    tell_pool: bool = True
    """Whether a request for sums may tell parties statistics of the pool. Set false if the pool's records are
    asked about only encrypted."""


@dataclass(frozen=True)
class SiteEncoder:
    """An encoder and the digest of its weights; both are empty if records are asked about as they are."""

    _encoder: Encoder | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its factory, empty for none."""
        return "" if self._encoder is None else self._encoder.name

    @property
    def sha256(self) -> bytes:
        """The digest of its weights, empty for none."""
        return b"" if self._encoder is None else self._encoder.sha256

    def encode(self, records: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return features (n, F') float32 of prepared records (n, F); raise `model.invalid` for others."""
        return records if self._encoder is None else self._encoder.encode(records)


def site_encoder(site: SiteConfig, name: str | None, task: Task) -> SiteEncoder:
    """Return the encoder of this name; "" means none, None the one of the site's configuration or task.

    Raises `model.invalid` if it cannot be loaded, `config.invalid` for an invalid table [query].
    """
    if name is None:
        name = load_section(site.folder, "query", QuerySection).encoder or task.encoder
    return SiteEncoder(load_encoder(name)) if name else SiteEncoder()
