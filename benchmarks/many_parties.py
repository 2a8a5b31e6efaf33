"""100,000 light parties at regional relays, simulated and calculated: `python -m benchmarks.many_parties`.

A discrete-event simulation: only a queue of events runs. The processor time of each step was measured
(docs/relay.md, docs/scale.md); the delays of networks and parties are assumed, see `Costs`.
docs/many-parties.md has the purpose.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from ostraka.client.session.stragglers import TIMES_QUORUM
from ostraka.common.console.cli import run
from ostraka.common.relay.agent import PAUSES_S
from ostraka.common.relay.dialling import TIMEOUT_S

PARTIES = 100_000  # in the federation of docs/many-parties.md
RELAYS = 25  # 4,000 sites each
STORMS = (500, 1000, 2000, 4000)  # sites at a relay; one takes 4,096
COHORTS = (500, 1000, 2000, 5000)  # parties that are asked in one batch


@dataclass(frozen=True)
class Costs:
    """Cost of steps, in processor seconds and bytes.

    Attributes:
        attach_s: of the relay per attaching site; measured.
        connection_s: of the relay per new connection of a caller; measured.
        relayed_byte_s: of the relay per byte that it forwards; measured.
        relay_bytes: memory of an idle relay, measured.
        site_bytes: memory per attached site, and per open connection, measured.
        ask_s: of the querying party per party of a batch; measured.
        share_s: of the guardian per share on a new connection; measured.
        release_s: of the guardian per party of a batch for everything else: tickets, the tally; measured.
        asked_bytes: of a question with 200 records of 64 features.
        share_bytes: of a share of 10 classes.
        network_s: round trips of a new connection through a relay, six of 40 ms; assumed.
        answer_s: median time of a party's answer; assumed.
        spread: of its logarithm: one in 40 takes seven times the median; assumed.
        missing: fraction of the parties that do not answer; assumed.
        quorum: fraction of the parties that must answer.
        freeze_s: minimum wait of a batch, the policy's default, plus 10 ms per party.
    """

    attach_s: float = 0.0017
    connection_s: float = 0.0042
    relayed_byte_s: float = 2.3e-9
    relay_bytes: float = 82e6
    site_bytes: float = 60e3
    ask_s: float = 0.0009
    share_s: float = 0.0024
    release_s: float = 0.0005
    asked_bytes: float = 52_400
    share_bytes: float = 16_700
    network_s: float = 0.24
    answer_s: float = 0.3
    spread: float = 1.0
    missing: float = 0.02
    quorum: float = 0.9
    freeze_s: float = 30.0


@dataclass
class Events:
    """A clock that jumps from one event to the next.

    Attributes:
        now: seconds since the start.
    """

    now: float = 0.0
    _due: list[tuple[float, int, Callable[[], None]]] = field(default_factory=list)
    _added: int = 0

    def at(self, time_s: float, act: Callable[[], None]) -> None:
        """Schedule an action; actions at the same time run in the order of the calls."""
        heapq.heappush(self._due, (time_s, self._added, act))
        self._added += 1

    def run(self) -> None:
        """Run all scheduled actions, and those that they schedule."""
        while self._due:
            self.now, _, act = heapq.heappop(self._due)
            act()


@dataclass
class Core:
    """A processor that does one thing after the other.

    Attributes:
        events: the clock.
        busy_s: seconds that it worked.
        free_s: when its work is done.
    """

    events: Events
    busy_s: float = 0.0
    free_s: float = 0.0

    def do(self, work_s: float, then: Callable[[], None]) -> float:
        """Do something after all waiting work, then call `then`; return when that will be."""
        self.free_s = max(self.free_s, self.events.now) + work_s
        self.busy_s += work_s
        self.events.at(self.free_s, then)
        return self.free_s


@dataclass(frozen=True)
class Storm:
    """All sites of a relay reconnect after it was down.

    Attributes:
        half_s: seconds after its restart until half were attached.
        all_s: seconds until all were.
        tries: attempts that the relay saw, including those that were given up meanwhile.
    """

    half_s: float
    all_s: float
    tries: int


def simulate_storm(sites: int, down_s: float, seed: int, costs: Costs = Costs()) -> Storm:
    """Restart a relay: sites retry after doubling pauses, and give an attempt up after `TIMEOUT_S`."""
    drawn = np.random.default_rng(seed)
    events = Events()
    relay = Core(events)
    attached: list[float] = []
    tries = 0

    def pause(length_s: float) -> None:
        wait_s = drawn.uniform(length_s / 2, length_s)
        events.at(events.now + wait_s, partial(attempt, min(PAUSES_S[1], 2 * length_s)))

    def attempt(next_s: float) -> None:
        nonlocal tries
        if events.now < down_s:
            pause(next_s)
            return
        tries += 1
        began = events.now
        # The relay only notices that a site has given up while it works on the attempt.
        done = relay.do(costs.attach_s, lambda: None)
        if done - began <= TIMEOUT_S:
            attached.append(done - down_s)
        else:
            events.at(began + TIMEOUT_S, partial(pause, next_s))

    for _ in range(sites):
        pause(PAUSES_S[0])
    events.run()
    attached.sort()
    return Storm(attached[len(attached) // 2], attached[-1], tries)


@dataclass(frozen=True)
class Batch:
    """One batch of a cohort.

    Attributes:
        quorum_s: seconds until enough shares were at the guardian.
        end_s: seconds until the batch is released.
        late: number of parties that were left out although they answered.
        guardian_s: processor seconds of the guardian.
        relay_s: processor seconds of the busiest relay.
        connections: maximum number of open connections at the busiest relay.
        relay_mb: memory of that relay, with all its sites attached.
        relay_bytes: bytes that the busiest relay forwarded.
    """

    quorum_s: float
    end_s: float
    late: int
    guardian_s: float
    relay_s: float
    connections: int
    relay_mb: float
    relay_bytes: float


def simulate_batch(cohort: int, seed: int, costs: Costs = Costs()) -> Batch:
    """Ask a random cohort of all parties through their relays, until its batch is released."""
    drawn = np.random.default_rng(seed)
    events = Events()
    querier = Core(events)
    guardian = Core(events)
    relays = [Core(events) for _ in range(RELAYS)]
    carried: Counter[int] = Counter()
    open_now: Counter[int] = Counter()
    open_most: Counter[int] = Counter()
    shares: list[float] = []

    def pass_on(at: int, size: float, then: Callable[[], None]) -> None:
        carried[at] += int(size)
        open_now[at] += 1
        open_most[at] = max(open_most[at], open_now[at])
        work_s = costs.connection_s + size * costs.relayed_byte_s
        relays[at].do(work_s, lambda: events.at(events.now + costs.network_s, then))

    def answer(at: int) -> None:
        if drawn.random() < costs.missing:
            return
        taken = drawn.lognormal(0.0, costs.spread) * costs.answer_s
        events.at(events.now + taken, partial(pass_on, at, costs.share_bytes, partial(bring, at)))

    def bring(at: int) -> None:
        guardian.do(costs.share_s, partial(count, at))

    def count(at: int) -> None:
        shares.append(events.now)
        open_now[at] -= 2  # the question's connection, and the share's

    for party in drawn.choice(PARTIES, cohort, replace=False):
        at = int(party) % RELAYS
        querier.do(costs.ask_s, partial(pass_on, at, costs.asked_bytes, partial(answer, at)))
    events.run()
    quorum_s = shares[int(costs.quorum * cohort) - 1]
    wait_s = costs.freeze_s + 0.01 * cohort
    end_s = shares[-1] if len(shares) == cohort else max(wait_s, TIMES_QUORUM * quorum_s)
    release_s = costs.release_s * cohort
    busiest = max(range(RELAYS), key=lambda at: relays[at].busy_s)
    sites = PARTIES // RELAYS
    most = open_most.most_common(1)[0][1]
    memory = costs.relay_bytes + (sites + most) * costs.site_bytes
    return Batch(
        quorum_s,
        end_s + release_s,
        sum(share > end_s for share in shares),
        guardian.busy_s + release_s,
        relays[busiest].busy_s,
        most,
        memory / 1e6,
        carried[busiest],
    )


def predict_storm(sites: int, costs: Costs = Costs()) -> float:
    """Calculate when all sites of a relay are back: its work, or the longest pause."""
    return max(sites * costs.attach_s, PAUSES_S[1])


def predict_quorum(cohort: int, costs: Costs = Costs()) -> float:
    """Calculate when a quorum is in: the slowest of the three cores' work, and one answer."""
    relay_s = 2 * costs.connection_s + (costs.asked_bytes + costs.share_bytes) * costs.relayed_byte_s
    part = costs.quorum * cohort
    cores_s = max(cohort * costs.ask_s, part * costs.share_s, part / RELAYS * relay_s)
    return cores_s + 2 * costs.network_s + costs.answer_s


def main(
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 1,
    down: Annotated[float, typer.Option(help="Seconds that a relay is down.")] = 30.0,
    plot: Annotated[Path | None, typer.Option(help="Picture of both tables.")] = None,
) -> None:
    """Simulate restarts of a relay and batches of cohorts, and print both beside arithmetic."""
    storms = {sites: simulate_storm(sites, down, seed) for sites in STORMS}
    batches = {cohort: simulate_batch(cohort, seed) for cohort in COHORTS}
    console = Console(width=120)
    back = Table("sites at a relay", "half back, s", "all back", "by arithmetic", "attempts")
    for sites, storm in storms.items():
        times = (storm.half_s, storm.all_s, predict_storm(sites))
        back.add_row(f"{sites:,}", *(f"{value:.1f}" for value in times), f"{storm.tries:,}")
    console.print(back)
    asked = Table(
        "cohort",
        "quorum, s",
        "by arithmetic",
        "released, s",
        "too late",
        "guardian, s",
        "a relay, ms",
        "its connections",
        "its MB",
        "it carries, MB",
    )
    for cohort, batch in batches.items():
        asked.add_row(
            f"{cohort:,}",
            f"{batch.quorum_s:.1f}",
            f"{predict_quorum(cohort):.1f}",
            f"{batch.end_s:.0f}",
            f"{batch.late}",
            f"{batch.guardian_s:.1f}",
            f"{1000 * batch.relay_s:.0f}",
            f"{batch.connections}",
            f"{batch.relay_mb:.0f}",
            f"{batch.relay_bytes / 1e6:.1f}",
        )
    console.print(asked)
    if plot is not None:
        draw_times(storms, batches, plot)


def draw_times(storms: dict[int, Storm], batches: dict[int, Batch], target: Path) -> None:
    """Draw the simulations and the calculations; write an image."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(list(storms), [one.all_s for one in storms.values()], "o", label="simulated")
    left.plot(list(storms), [predict_storm(sites) for sites in storms], label="arithmetic")
    left.set(xlabel="sites at a relay", ylabel="seconds until all are back", ylim=(0, None))
    right.plot(list(batches), [one.quorum_s for one in batches.values()], "o", label="simulated")
    right.plot(list(batches), [predict_quorum(cohort) for cohort in batches], label="arithmetic")
    right.set(xlabel="parties asked", ylabel="seconds until a quorum is in", ylim=(0, None))
    left.legend(frameon=False)
    figure.savefig(target, dpi=120)


if __name__ == "__main__":
    app = typer.Typer(add_completion=False)
    app.command()(main)
    run(app)
