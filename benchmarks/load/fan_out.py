"""Measures a querying party under load: `python -m benchmarks.load.fan_out --parties 100,1000`.

The querying party is this process alone: it asks parties, which are another process, for their votes, as in a
run. With `--relay` it reaches them through a relay, to which a third process attaches them all.
"""

import hashlib
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.load.federation import GUARDIAN, NAME, QUERIER, Federation
from benchmarks.load.party import GROUP, TEACHERS
from benchmarks.load.ports import serving
from benchmarks.load.relayed import Relayed, attach_all
from benchmarks.load.run import Case
from ostraka.client.peers.party_peer import VoteBatch
from ostraka.client.peers.retry import Retry
from ostraka.client.run.site import connect
from ostraka.client.session.batch import Granted, Peers, Queries, Ticketed
from ostraka.client.session.protocols import Switches
from ostraka.common.clock import SystemClock
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.console.cli import run, write_json
from ostraka.common.identity import Credentials
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.signed_lists import sign_list
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.wire.contexts import GRANT_CONTEXT, PROTOCOL_VERSION, TICKET_CONTEXT
from ostraka.deploy.simulation.processes import fresh
from ostraka.protos.ostraka.v1 import common_pb2

BATCHES = 4  # the first also opens connections
COLUMNS = 64  # scikit-learn's digits have as many
SESSION = "0" * 32
DAY_S = 86_400
NOWHERE = "127.0.0.1:1"
"""The guardian's address; it is never called."""
app = typer.Typer(add_completion=False)


def measure(case: Case) -> dict[str, Any]:
    """Return the querying party's cost per party: processor ms, and bytes of messages sent."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        root = Path(folder)
        federation = Federation(root, case.parties)
        guardian = Credentials.load(root / GUARDIAN.site)
        addresses = stack.enter_context(serving(root, federation.parties))
        relayed = None
        if case.relay:
            relayed = stack.enter_context(attach_all(root, federation, NOWHERE, fresh, addresses))
            addresses = dict(relayed.addresses)
        carried = Carried(relayed)
        site = SiteConfig(
            federation=NAME,
            site=QUERIER.site,
            role="query",
            guardian=NOWHERE,
            guardian_site=GUARDIAN.site,
            parties=addresses,
            folder=root / QUERIER.site,
        )
        write_site(site)
        peers = stack.enter_context(connect(site, tuple(addresses), SystemClock(), Retry()))
        figures = _batches(case.plan(tuple(addresses)), peers, addresses, guardian, carried)
        return {"parties": case.parties, **figures, **carried.figures(case.parties)}


class Carried:
    """Cost of relay and agents: of the first connections, and of each batch."""

    def __init__(self, relayed: Relayed | None) -> None:
        """Take the relay and agents, if there are any."""
        self._relayed = relayed
        self._seconds = [self._read()]

    def note(self) -> None:
        """Record their cost so far, once they are idle."""
        self._seconds.append(self._read())

    def figures(self, parties: int) -> dict[str, Any]:
        """Return processor ms per party, for the connections and for each batch, and memory."""
        if self._relayed is None:
            return {}
        spent = 1000 * np.diff(np.array(self._seconds), axis=0) / parties
        return {
            "relay_ms": spent[:, 0].tolist(),
            "agents_ms": spent[:, 1].tolist(),
            **self._relayed.figures(),
        }

    def _read(self) -> tuple[float, float]:
        if self._relayed is None:
            return 0.0, 0.0
        return self._relayed.relay.seconds_at_rest(), self._relayed.agents.seconds_at_rest()


def _batches(
    plan: Plan, peers: Peers, addresses: Mapping[str, str], guardian: Credentials, carried: Carried
) -> dict[str, Any]:
    sent = plan.serialize()
    count = len(addresses)
    known = [_participant(name) for name in plan.parties]
    signed = sign_list(guardian, GRANT_CONTEXT, _grant(plan, sent, known, guardian))
    granted = Granted(sent, plan, signed, peers.permissions.grant(signed, sent))
    voting = Switches().voting(peers, granted)
    spent = []
    waited = []
    start = time.process_time()
    assert not voting.unreachable(addresses)
    probed = time.process_time() - start
    carried.note()
    features = np.random.default_rng(1).normal(size=(plan.batch_size, COLUMNS)).astype(np.float32)
    for number in range(1, BATCHES + 1):
        ticket = sign_list(guardian, TICKET_CONTEXT, _ticket(plan, known, number))
        began = time.perf_counter()
        start = time.process_time()
        read = peers.permissions.ticket(
            ticket, granted.grant, batch_id=number, size=plan.batch_size, quorum=plan.quorum
        )
        ticketed = Ticketed(ticket, read)
        votes = voting.collect(ticketed, Queries(features))
        assert len(votes.shares) == count, next(iter(votes.failures.values()))
        votes.total(plan.parties, plan.modulus)
        spent.append(time.process_time() - start)
        waited.append(time.perf_counter() - began)
        carried.note()
    asked = VoteBatch(sent, plan.classes, granted.entries, ticketed.entries, features)
    return {
        "probe_ms": 1000 * probed / count,
        "batch_ms": [1000 * one / count for one in spent],
        "batch_s": waited,
        "first_header_bytes": asked.header(plan.parties[0], whole=True).ByteSize(),
        "header_bytes": asked.header(plan.parties[0], whole=False).ByteSize(),
        "plan_bytes": len(sent),
        "open_files": len(list(Path("/proc/self/fd").iterdir())),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
    }


def _participant(site: str) -> common_pb2.Participant:
    cohort = common_pb2.Cohort(
        groups=[GROUP], teachers=TEACHERS, weight=1 << FRACTION_BITS, copies=[1], records=[100]
    )
    digest = hashlib.sha256(site.encode()).digest()
    return common_pb2.Participant(
        site=site,
        teachers=TEACHERS,
        records=100,
        max_votes_per_person=1,
        manifest_sha256=digest,
        cohorts=[cohort],
    )


def _grant(
    plan: Plan, sent: bytes, known: Sequence[common_pb2.Participant], guardian: Credentials
) -> common_pb2.Grant:
    now = int(SystemClock().now())
    return common_pb2.Grant(
        session_id=SESSION,
        plan_digest=hashlib.sha256(sent).digest(),
        querier=QUERIER.uri,
        key_id=hashlib.sha256(guardian.signing_public_key).digest(),
        protocol_version=PROTOCOL_VERSION,
        ring_bits=plan.ring_bits,
        participants=known,
        teachers=sum(participant.teachers for participant in known),
        max_batch=plan.batch_size,
        max_queries=plan.queries,
        not_before_unix_s=now,
        expires_unix_s=now + DAY_S,
        enforce="worst_case",
        bound="worst_case",
    )


def _ticket(plan: Plan, known: Sequence[common_pb2.Participant], number: int) -> common_pb2.Ticket:
    tomorrow = int(1000 * (SystemClock().now() + DAY_S))
    return common_pb2.Ticket(
        session_id=SESSION,
        batch_id=number,
        size=plan.batch_size,
        freeze_unix_ms=tomorrow,
        expires_unix_ms=tomorrow,
        schedule=[common_pb2.Schedule(participant=one, queries=[b""]) for one in known],
    )


_CARRIED = ("relay, ms each: first", "batch", "agents: first", "batch", "relay, MB")


def fan_out_table(cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return a row for each number of parties, from the last batch, whose connections are open."""
    table = Table(
        "parties",
        "probe, ms each",
        "batch, ms each",
        "batch, s",
        "first header, bytes",
        "of them plan",
        "later headers",
        "files",
        "MB",
        *(_CARRIED if any("relay_ms" in case for case in cases) else ()),
    )
    for case in cases:
        table.add_row(
            f"{case['parties']:,}",
            f"{case['probe_ms']:.2f}",
            f"{case['batch_ms'][-1]:.2f}",
            f"{case['batch_s'][-1]:.2f}",
            f"{case['first_header_bytes']:,}",
            f"{case['plan_bytes']:,}",
            f"{case['header_bytes']:,}",
            f"{case['open_files']:,}",
            f"{case['peak_mb']:,.0f}",
            *_relay_cells(case),
        )
    return table


def _relay_cells(case: Mapping[str, Any]) -> list[str]:
    if "relay_ms" not in case:
        return []
    ends = [case[name][place] for name in ("relay_ms", "agents_ms") for place in (0, -1)]
    return [*(f"{spent:.2f}" for spent in ends), f"{case['relay_peak_mb']:,.0f}"]


@app.command()
def main(
    parties: Annotated[str, typer.Option(help="How many parties, one case each.")] = "100,1000",
    relay: Annotated[bool, typer.Option("--relay", help="Call parties by a relay.")] = False,
    json: Annotated[str | None, typer.Option(help="File for everything measured; - is stdout.")] = None,
) -> None:
    """Measure each case, and print what the querying party spends on each party."""
    cases = [measure(Case(int(number), relay=relay)) for number in parties.split(",")]
    Console(width=160, stderr=json == "-").print(fan_out_table(cases))
    write_json(cases, json)


if __name__ == "__main__":
    run(app)
