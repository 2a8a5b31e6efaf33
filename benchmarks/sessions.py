"""Measured sessions over gRPC and mutual TLS, with a process per site."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.processors import processor_seconds
from ostraka.client.run.labelling import LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.common.config import SITE_FILE, NoiseName
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.processes import Child, Supervisor, forking
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import split_data

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@dataclass(frozen=True)
class Measured:
    """One session.

    Attributes:
        result: its result.
        seconds: from opening the session to its last answer.
        querier_s: processor time of the querying party's process.
        parties_s: of all answering parties' processes together.
        guardian_s: of the guardian's process.
    """

    result: LabelResult
    seconds: float
    querier_s: float
    parties_s: float
    guardian_s: float


@dataclass(frozen=True)
class Served:
    """A serving federation, whose budgets pay for everything that is asked."""

    federation: Federation
    settings: Settings
    children: Mapping[str, Child]

    def ask(self, options: PlanOptions, run: str) -> Measured:
        """Label the pool with a plan of these options, into the folder `run` of the querying party."""
        site = self.federation.site(QUERY)
        spent: dict[str, float] = {}
        began = time.perf_counter()
        with processor_seconds(self.children, spent):
            result = label(site, site / "pool.npz", options, site / run)
        seconds = time.perf_counter() - began
        assert result.asked == result.queries, "a session stopped early"
        parties_s = sum(spent[party] for party in self.settings.sites)
        return Measured(result, seconds, spent[QUERY], parties_s, spent[GUARDIAN])


@contextmanager
def serve(settings: Settings, folder: Path, noise: NoiseName = "ostraka") -> Iterator[Served]:
    """Train and serve a federation in `folder` during the block; `noise` is the guardian's source."""
    split = split_data(settings)
    with forking() as start, Supervisor(folder / "logs", THREADS, start=start) as processes:
        federation = Federation(folder / "sites", settings, processes)
        federation.provision()
        site = federation.site(GUARDIAN) / SITE_FILE
        site.write_text(f'noise = "{noise}"\n{site.read_text()}')
        federation.place(split)
        federation.train()
        children = federation.serve()
        federation.set_budgets()
        yield Served(federation, settings, children)
