"""Parts of every serving party: its site, its journal, its link to the guardian, and its server."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import structlog
from prometheus_client import CollectorRegistry

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig, load_section, load_site, require_role
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.relay.agent_process import AgentProcess, attach_to_relays, watch_agent
from ostraka.common.rpc import BoundServer
from ostraka.common.rpc.serving import DRAIN_S
from ostraka.common.telemetry.site import observing
from ostraka.services.admission.policy import PartyPolicy, PartySection
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.hosting import Hosting, Orders
from ostraka.services.journal.journal import Journal
from ostraka.services.serving.metrics import PartyMetrics
from ostraka.services.voting.submission import GuardianLink

AGAIN_S = 30.0
"""Seconds between two registrations: a guardian with a restored ledger accepts no vote before the next
one."""


@dataclass(frozen=True)
class PartySite:
    """A party's site folder, loaded.

    Attributes:
        folder: the site folder.
        config: its `site.toml`.
        section: its table [party].
        policy: its table [policy].
        credentials: its keys and certificates.
    """

    folder: Path
    config: SiteConfig
    section: PartySection
    policy: PartyPolicy
    credentials: Credentials

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a site folder; raise `config.invalid` or `identity.*`."""
        require_role(folder, "party")
        config = load_site(folder)
        credentials = Credentials.of(config)
        section = load_section(folder, "party", PartySection)
        policy = load_section(folder, "policy", PartyPolicy)
        return cls(folder, config, section, policy, credentials)

    @property
    def guardian(self) -> Identity:
        """The identity of this party's guardian."""
        return Identity(self.config.federation, self.config.guardian_site, Role.GUARDIAN)


@dataclass(frozen=True)
class PartyLink:
    """A party's journal and its link to the guardian, with the metrics of both.

    `agent` keeps it attached to its relays, if it has any.
    """

    journal: Journal
    guardian: GuardianLink
    metrics: PartyMetrics
    registry: CollectorRegistry
    agent: AgentProcess | None


@contextmanager
def open_link(
    site: PartySite,
    clock: Clock,
    stop: threading.Event,
    registry: CollectorRegistry | None,
    *,
    insecure: bool = False,
) -> Iterator[PartyLink]:
    """Open a party's journal and its link to the guardian, and observe the site, in the block."""
    with ExitStack() as stack:
        config, agent = stack.enter_context(attach_to_relays(site.config, serves=True))
        kept = stack.enter_context(
            observing(site.folder, registry, credentials=site.credentials, clock=clock)
        )
        policy = site.policy
        journal = stack.enter_context(
            Journal(site.folder / "journal.db", cap=policy.cap, queries_per_day=policy.queries_per_day)
        )
        link = GuardianLink(
            site.credentials,
            config.guardian,
            site.guardian,
            journal,
            clock,
            insecure=insecure,
            sleep=stop.wait,
        )
        stack.callback(link.close)
        metrics = PartyMetrics(kept)
        metrics.watch_limits(journal, policy, clock)
        if agent is not None:
            watch_agent(kept, agent)
        yield PartyLink(journal, link, metrics, kept, agent)


@contextmanager
def serving(
    bound: BoundServer,
    hosting: Hosting[Any],
    admission: Admission,
    stop: threading.Event,
    *,
    orders: Orders | None = None,
    again_s: float = AGAIN_S,
    agent: AgentProcess | None = None,
) -> Iterator[str]:
    """Start a party's server, register its teachers, and yield its address; drain at the end.

    The agent, if any, forwards callers to the server once it runs, and ends after it.
    """
    with ExitStack() as stack:
        stack.callback(bound.server.stop, None)
        # Started before the guardian knows about it, because querying parties may then call at once.
        bound.server.start()
        if agent is not None:
            agent.serve(bound.address)
        stack.enter_context(bound.handshakes.watching())
        hosting.register(stop)
        stack.enter_context(hosting.keep_up(orders or Orders(), again_s))
        # Added last, so it runs first: batches in progress end while everything else still works.
        stack.callback(_drain, bound, admission)
        yield bound.address


def _drain(bound: BoundServer, admission: Admission) -> None:
    """Refuse new batches, and give batches in progress `DRAIN_S` seconds to finish."""
    bound.health.enter_graceful_shutdown()
    admission.close()
    structlog.get_logger().info("party.draining")
    admission.wait_until_empty(DRAIN_S)
    bound.server.stop(DRAIN_S).wait()
