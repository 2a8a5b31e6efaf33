"""Processor time of a federation's processes while it works."""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ostraka.deploy.simulation.federation import QUERY
from ostraka.deploy.simulation.processes import Child

TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def processor_seconds(children: Mapping[str, Child], seconds: dict[str, float]) -> Iterator[None]:
    """Write the processor time that each child, and this process, uses in a block into `seconds`."""
    before = {site: _so_far(child) for site, child in children.items()}
    own = time.process_time()
    yield
    seconds[QUERY] = time.process_time() - own
    seconds |= {site: _so_far(child) - before[site] for site, child in children.items()}


def _so_far(child: Child) -> float:
    """Return the processor time of a process so far, of all its threads; Linux only."""
    fields = Path(f"/proc/{child.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS
