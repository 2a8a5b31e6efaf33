"""Queries per second of sessions whose guardian uses OpenDP or Ostraka's sampler, alternately.

Ten parties with one linear teacher each, batches of 1,000, one and two open at a time. A batch is released at
the earliest at the end of the slot in which its noise is drawn.
"""

import tempfile
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from statistics import median
from unittest import mock

from benchmarks.sessions import Served, serve
from benchmarks.two_batches import PARTIES, REPEATS, cost_text, settings
from ostraka.client.run.options import PlanOptions
from ostraka.client.session import batches
from ostraka.common.config import NoiseName
from ostraka.services.encrypted.head_processes import cores

BATCH = 1000
"""Queries released together: with OpenDP, drawing noise for this many took most of a batch's time."""
QUERIES = 6000
"""Six batches, so the first, which overlaps with nothing, hardly counts."""
SOURCES: tuple[NoiseName, ...] = ("opendp", "ostraka")


def main() -> None:
    """Print each session, then the medians and their ratio."""
    print(f"{PARTIES} parties with one linear teacher each, batches of {BATCH}, {cores()} cores")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as serving:
        federations = [serving.enter_context(_serve(Path(folder, noise), noise)) for noise in SOURCES]
        for most in (1, 2):
            rates = [
                [_rate(federation, most, f"{most}-{run}") for federation in federations]
                for run in range(REPEATS)
            ]
            before, after = (median(column) for column in zip(*rates, strict=True))
            print(f"{most} open: {before:,.0f} and {after:,.0f} queries/s: {after / before:.2f} times")


def _serve(folder: Path, noise: NoiseName) -> AbstractContextManager[Served]:
    folder.mkdir()
    return serve(settings(folder), folder, noise)


def _rate(federation: Served, most: int, run: str) -> float:
    asked = federation.settings
    options = PlanOptions(
        mechanism=asked.plan_mechanism, quorum=asked.least_parties, batch_size=BATCH, queries=QUERIES
    )
    with mock.patch.object(batches, "one_at_a_time", return_value=most == 1):
        measured = federation.ask(options, run)
    print(cost_text(run, measured))
    return QUERIES / measured.seconds


if __name__ == "__main__":
    main()
