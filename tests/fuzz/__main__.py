"""Send nonsense to every server, and lies to every client: `python -m tests.fuzz --seconds 60`."""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import typer
from rich.console import Console
from rich.progress import Progress

from ostraka.common.telemetry import configure_logging
from tests.fuzz.calling import Callers
from tests.fuzz.campaign import Campaign, Numbered
from tests.fuzz.deceived import Deceived, deceived
from tests.fuzz.federation import NAME, Federation, federation
from tests.fuzz.forging import Forger
from tests.fuzz.meddling import Tap
from tests.fuzz.methods import methods_of
from tests.fuzz.watching import Watch, problems_of_ledger

LIARS = ("guardian", "b", "d")
"""Members whose keys the lying servers have."""
TELL_EVERY_S = 300.0
"""How often a line reports progress if nobody sees the progress bars."""
Side = Literal["servers", "clients"]
SIDES: tuple[Side, ...] = ("servers", "clients")


@dataclass(frozen=True)
class Share:
    """The inputs for one side.

    Attributes:
        inputs: maximum number of inputs; `seconds` likewise.
        numbers: only these inputs, if there are any.
    """

    inputs: int
    seconds: float
    numbers: range | None

    def send(self, campaign: Numbered) -> None:
        """Send them."""
        if self.numbers is None:
            campaign.run(self.inputs, self.seconds)
        else:
            for number in self.numbers:
                campaign.one(number)

    def part_done(self, inputs: int, took_s: float) -> float:
        """Return which fraction of it is done."""
        most = self.inputs if self.numbers is None else len(self.numbers)
        return max(inputs / most, took_s / self.seconds)


def prepared(made: Federation, tap: Tap, seed: int, callers: Callers) -> Campaign:
    """Return a campaign against a serving federation, once every honest session was recorded."""
    methods = [
        method for server in made.servers for method in methods_of(server, callers.channel("query", server))
    ]
    identities = {one.identity.uri: name for name, one in made.members.items() if one and name != "foreign"}
    tap.learn(methods, {server.address: name for name, server in made.servers.items()}, identities)
    for session in made.sessions.values():
        session()
    repairs = {"/ostraka.v1.Admin/ApplyPolicy": made.restore_policy}
    return Campaign(seed, callers, methods, Forger(made.signers()), tap, made.sessions, repairs)


def deceived_of(made: Federation) -> Deceived:
    """Return the members whose clients are lied to."""
    members = {name: one for name, one in made.members.items() if one and name != "foreign"}
    sites = {name: made.site(name) for name in ("admin", "query", "guardian")}
    return Deceived(members, *LIARS, sites)


def send(side: Side, campaign: Numbered, watch: Watch, share: Share, bars: Progress) -> None:
    """Send inputs, check processes and logs meanwhile, and report the results."""
    began, task = time.monotonic(), bars.add_task(side, total=1.0)
    told = began

    def show() -> None:
        nonlocal told
        inputs, now = campaign.tally.inputs, time.monotonic()
        bars.update(
            task, completed=share.part_done(inputs, now - began), description=f"{side}, {inputs:,} inputs"
        )
        if bars.disable and now - told > TELL_EVERY_S:
            told = now
            print(f"{side}: {inputs:,} inputs after {now - began:.0f} s", flush=True)

    with watch.watching(show):
        share.send(campaign)
    took = time.monotonic() - began
    inputs = campaign.tally.inputs
    print(f"{side}: {inputs:,} inputs in {took:.0f} s, {inputs / took:.0f} a second")
    print(f"most memory, in MiB: {watch.most}")


def look_afterwards(made: Federation, campaign: Campaign) -> None:
    """Run every honest session once more, and read the ledger."""
    for name, session in made.sessions.items():
        try:
            session()
        except Exception as error:
            campaign.tally.found("all", f"afterwards an honest session ({name}) ended with {error!r}")
    for problem in problems_of_ledger(made.site("guardian"), made.ca_pem, NAME):
        campaign.tally.found("all", problem)


def tell(side: Side, campaign: Numbered) -> None:
    """Print the counts of a campaign."""
    for title, counted in vars(campaign.tally).items():
        for name, count in counted.most_common() if isinstance(counted, Counter) else ():
            print(f"{side:>8} {title:>9} {count:10,}  {name}")


@contextmanager
def logged(root: Path) -> Iterator[Path]:
    """Within the block, write this process's log to the file that is yielded."""
    (root / "logs").mkdir()
    with (root / "logs" / "fuzz.log").open("a", buffering=1) as log, redirect_stderr(log):
        configure_logging()
        yield root / "logs" / "fuzz.log"


def main(
    inputs: Annotated[int, typer.Option(help="Stop after so many, half of them of each side.")] = sys.maxsize,
    seconds: Annotated[float, typer.Option(help="Stop after so long, half of it for each side.")] = math.inf,
    seed: Annotated[int | None, typer.Option(help="What inputs follow from; a new one, printed.")] = None,
    side: Annotated[str, typer.Option(help="One side alone: servers, or clients.")] = "",
    only: Annotated[str, typer.Option(help="Repeat one input by its number, or several: 8, 12-40.")] = "",
) -> None:
    """Send inputs until something says to stop; leave with status 1 where anything was found."""
    sides = [one for one in SIDES if side in {"", one}]
    if not sides or (only and len(sides) > 1):
        raise typer.BadParameter("--side is servers or clients, and --only needs it.")
    drawn = secrets.randbits(32) if seed is None else seed
    print(f"seed {drawn}", flush=True)
    first, _, last = only.partition("-")
    numbers = range(int(first), int(last or first) + 1) if only else None
    share = Share(inputs // len(sides), seconds / len(sides), numbers)
    display = Console(file=sys.stderr)
    bars, tap = Progress(console=display, disable=not display.is_terminal), Tap()
    campaigns: dict[Side, Numbered] = {}
    with tempfile.TemporaryDirectory() as name, tap.tapping(), bars, ExitStack() as stack:
        root = Path(name)
        log = stack.enter_context(logged(root))
        made = stack.enter_context(federation(root))
        callers = stack.enter_context(Callers(made.servers, made.members, made.ca_pem))
        sending = prepared(made, tap, drawn, callers)
        if "servers" in sides:
            campaigns["servers"] = sending
            channels = {server: callers.channel("query", server) for server in made.servers}
            logs = sorted(made.logs.glob("*.log"))
            send("servers", sending, Watch(made.children, logs, channels, sending), share, bars)
            look_afterwards(made, sending)
        if "clients" in sides:
            forger = Forger(made.signers())
            lying = deceived(deceived_of(made), tap.recorder, forger, drawn, root / "deceived")
            campaigns["clients"] = told = stack.enter_context(lying)
            send("clients", told, Watch([], [log], {}, told), share, bars)
    for one, campaign in campaigns.items():
        tell(one, campaign)
    if any(campaign.tally.findings for campaign in campaigns.values()):
        print(f"repeat what was found with --seed {drawn}, --side and --only as told above")
        raise typer.Exit(1)
    print("nothing found")


if __name__ == "__main__":
    typer.run(main)
