"""Send nonsense to every call of a whole federation: `python -m tests.fuzz --seconds 60`."""

from __future__ import annotations

import math
import os
import secrets
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, redirect_stderr
from pathlib import Path
from typing import Annotated

os.environ.setdefault("GRPC_VERBOSITY", "NONE")

import typer

from ostraka.common.telemetry import configure_logging
from tests.fuzz.calling import Callers
from tests.fuzz.campaign import Campaign
from tests.fuzz.federation import NAME, Federation, federation
from tests.fuzz.forging import Forger
from tests.fuzz.meddling import Tap
from tests.fuzz.methods import methods_of
from tests.fuzz.watching import Watch, problems_of_ledger


def prepared(made: Federation, tap: Tap, seed: int, callers: Callers) -> Campaign:
    """Return a campaign against a federation that serves, once every honest session was seen."""
    methods = [
        method for server in made.servers for method in methods_of(server, callers.channel("query", server))
    ]
    identities = {one.identity.uri: name for name, one in made.members.items() if one and name != "foreign"}
    tap.learn(methods, {server.address: name for name, server in made.servers.items()}, identities)
    for session in made.sessions.values():
        session()
    repairs = {"/ostraka.v1.Admin/ApplyPolicy": made.restore_policy}
    return Campaign(seed, callers, methods, Forger(made.signers()), tap, made.sessions, repairs)


def run(
    made: Federation, campaign: Campaign, callers: Callers, inputs: int, seconds: float, only: str
) -> None:
    """Send inputs, and look at servers and ledger meanwhile and afterwards."""
    watch = Watch(
        made.children,
        sorted(made.logs.glob("*.log")),
        {server: callers.channel("query", server) for server in made.servers},
        campaign,
    )
    began = time.monotonic()
    with watch.watching():
        if only:
            first, _, last = only.partition("-")
            for number in range(int(first), int(last or first) + 1):
                campaign.one(number)
        else:
            campaign.run(inputs, seconds)
    took = time.monotonic() - began
    print(f"{campaign.tally.inputs:,} inputs in {took:.0f} s, {campaign.tally.inputs / took:.0f} a second")
    print(f"most memory, in MiB: {watch.most}")
    for name, session in made.sessions.items():
        try:
            session()
        except Exception as error:
            campaign.tally.found("all", f"afterwards an honest session ({name}) ended with {error!r}")
    for problem in problems_of_ledger(made.site("guardian"), made.ca_pem, NAME):
        campaign.tally.found("all", problem)


def main(
    inputs: Annotated[int, typer.Option(help="Stop after so many.")] = sys.maxsize,
    seconds: Annotated[float, typer.Option(help="Stop after so long.")] = math.inf,
    seed: Annotated[int | None, typer.Option(help="What inputs follow from; a new one, printed.")] = None,
    only: Annotated[str, typer.Option(help="Repeat one input by its number, or several: 8, 12-40.")] = "",
) -> None:
    """Send inputs until something says to stop; leave with status 1 where anything was found."""
    drawn = secrets.randbits(32) if seed is None else seed
    print(f"seed {drawn}", flush=True)
    tap = Tap()
    with tempfile.TemporaryDirectory() as name, tap.tapping(), ExitStack() as stack:
        root = Path(name)
        (root / "logs").mkdir()
        log = stack.enter_context((root / "logs" / "fuzz.log").open("a", buffering=1))
        stack.enter_context(redirect_stderr(log))
        configure_logging()
        made = stack.enter_context(federation(root))
        callers = stack.enter_context(Callers(made.servers, made.members, made.ca_pem))
        campaign = prepared(made, tap, drawn, callers)
        run(made, campaign, callers, inputs, seconds, only)
    for title, counted in vars(campaign.tally).items():
        for name, count in counted.most_common() if isinstance(counted, Counter) else ():
            print(f"{title:>10} {count:10,}  {name}")
    if campaign.tally.findings:
        print(f"repeat what was found with --seed {drawn} and --only as told above")
        raise typer.Exit(1)
    print("nothing found")


if __name__ == "__main__":
    typer.run(main)
