"""A party that serves one model in its own process, and sessions of a querying party that ask it."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

import benchmarks
from ostraka.client.peers.event_loop import run_async
from ostraka.client.peers.party_peer import VoteBatch, Voter
from ostraka.client.peers.retry import Retry
from ostraka.client.run.site import connect
from ostraka.client.session.batch import Granted, Peers, Ticketed
from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig, load_site
from ostraka.common.datasets import from_arrays
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.processes import Start, Supervisor, fresh
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split
from ostraka.services.teachers import TrainingConfig, train

RECORDS = 100  # few: accuracy is not measured
CLASSES = 10  # MNIST's
MAX_QUERIES = 10_000  # of the largest measured batch
OPEN_BATCHES = 1000  # so many that policies never refuse the load


@dataclass(frozen=True)
class Party:
    """A party to ask, and its querying party.

    Attributes:
        name: of the party.
        teachers: folder of its model.
        querier: site of the querying party.
        parties: all parties of the federation.
        task: their task.
    """

    name: str
    teachers: Path
    querier: SiteConfig
    parties: tuple[str, ...]
    task: Task

    @contextmanager
    def session(self, X: NDArray[np.float32], batches: int) -> Iterator[list[Callable[[], bytes]]]:
        """Open a session as `batches` calls, each of which lets the party vote on a batch of queries X."""
        plan = Plan(
            nonce=secrets.token_bytes(NONCE_BYTES),
            task_digest=self.task.digest,
            classes=CLASSES,
            mechanism=GnMax(sigma=40.0),
            parties=self.parties,
            quorum=len(self.parties),
            queries=batches * len(X),
            batch_size=len(X),
        )
        sent = plan.serialize()
        with connect(self.querier, self.parties, SystemClock(), Retry()) as peers:
            signed = peers.guardian.open_session(sent).grant
            granted = Granted(sent, plan, signed, peers.permissions.grant(signed, sent))
            tickets = [_ticket(peers, granted, number, len(X)) for number in range(batches)]
            voter = peers.voters[self.name]
            run_async(voter.probe())
            batches_asked = [VoteBatch(sent, CLASSES, granted.entries, one.entries, X) for one in tickets]
            yield [partial(_vote, voter, batch) for batch in batches_asked]


def _vote(voter: Voter, batch: VoteBatch) -> bytes:
    return run_async(voter.vote(batch))


def _allow_open_batches(site: Path) -> None:
    """Let a guardian's policy allow all tickets at once, so none is opened while votes are timed."""
    site.write_text(site.read_text().replace("[policy]\n", f"[policy]\nmax_open_batches = {OPEN_BATCHES}\n"))


def _ticket(peers: Peers, granted: Granted, number: int, size: int) -> Ticketed:
    session_id = granted.grant.session_id
    quorum = granted.plan.quorum
    signed = peers.guardian.open_batch(session_id, number, size, ())
    read = peers.permissions.ticket(signed, granted.grant, batch_id=number, size=size, quorum=quorum)
    return Ticketed(signed, read)


@contextmanager
def serving(model: str, shape: tuple[int, ...], start: Start = fresh) -> Iterator[Party]:
    """Run a federation of two parties that serve this model, hardly trained, on images of this shape."""
    random = np.random.default_rng(0)
    images = random.integers(0, 256, (RECORDS, *shape)).astype(np.float32)
    data = from_arrays(images, np.arange(RECORDS) % CLASSES)
    split = Split((data, data), data, data, data.labels(), data)
    settings = Settings(parties=2, teachers=1, epsilon=1e6, batch_size=MAX_QUERIES)
    found = {"PYTHONPATH": str(Path(benchmarks.__file__).parents[1])}
    with TemporaryDirectory() as folder, Supervisor(Path(folder, "logs"), found, start=start) as processes:
        federation = Federation(Path(folder, "sites"), settings, processes)
        federation.provision()
        task = federation.place(split)
        _allow_open_batches(federation.site(GUARDIAN) / "site.toml")
        ensemble = train(data, task, TrainingConfig(teachers=1, model=model, epochs=1), seed=0)
        for site in settings.sites:
            ensemble.save(federation.site(site) / "teachers")
        federation.serve()
        federation.set_budgets()
        asked = settings.sites[0]
        querier = load_site(federation.site(QUERY))
        yield Party(asked, federation.site(asked) / "teachers", querier, settings.sites, task)
