"""A real guardian, three real parties and a querying party on loopback, each with its metrics."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from prometheus_client import CollectorRegistry

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.meter import QueryMetrics
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import digits, save
from ostraka.common.mechanism import Confident
from ostraka.common.task import infer_task, write_task
from ostraka.common.telemetry.registry import new_registry
from ostraka.common.telemetry.site import observing
from ostraka.guardian.serving.server import running as guardian
from ostraka.services.serving.server import running as party
from ostraka.services.teachers import TrainingConfig, train
from tests.client.driving import QUICK
from tests.guardian.federation import FEDERATION, PARTIES, Calls, Federation
from tests.services.wire import Stop

TEACHERS, QUERIES = 4, 8
POLICY = 'enforce = "worst_case"\nmin_sigma = 0.1\nmin_quorum = 2\nencodings = ["plain", "ckks"]\n'
ENCODINGS = 'encodings = ["plain", "ckks"]\n'
LIMITS = f"\n[policy]\nepsilon_cap = 1e6\ndelta = 1e-5\nqueries_per_day = 1000\n{ENCODINGS}"
MECHANISM = Confident(sigma1=0.5, sigma2=0.5, threshold=8.0)
"""Answers a class that all twelve teachers agree on, and none that only four vote for."""

Registries = dict[str, CollectorRegistry]
AGREEING, DISSENTING = dict.fromkeys(PARTIES, 0), dict(zip(PARTIES, (0, 3, 6), strict=True))
"""How far each party's votes are shifted."""


def teachers(folder: Path, off: int, *, encrypted: bool = False) -> Path:
    """Make a folder with teachers of digits that vote for each digit plus `off`, modulo ten.

    Teachers for encrypted queries are networks, which take longer to train.
    """
    data = digits().take(slice(0, 400))
    off_by = replace(data, y=(np.asarray(data.y) + off) % 10)
    kind: dict[str, Any] = {"head": "linear"} if encrypted else {"model": "logistic_regression"}
    config = TrainingConfig(teachers=TEACHERS, **kind)
    train(off_by, infer_task(digits(), "digits"), config, seed=1).save(folder)
    return folder


class Observed:
    """The folders of a federation; data of earlier sessions are deleted by every `serving`."""

    def __init__(self, root: Path) -> None:
        root.mkdir(exist_ok=True)
        self.members = Federation(root, policy=POLICY)
        self.site, self.pool = root / "q-query", root / "pool.npz"
        task = infer_task(digits(), "digits")
        for folder in (self.site, *map(self.party, PARTIES)):
            write_task(task, folder / "task.toml")
        save(digits().take(slice(400, 400 + QUERIES)), self.pool)

    def party(self, name: str) -> Path:
        return self.members.root / f"{name}-party"

    @contextmanager
    def serving(
        self, ensembles: Mapping[str, Path], metrics: Mapping[str, str] | None = None
    ) -> Iterator[tuple[Calls, Registries]]:
        """Start new servers, whose parties have these teachers, with budgets that hardly shrink.

        `metrics` gives the address of a server's metrics by its name.
        """
        self._forget()
        told = {name: f'\n[telemetry]\nmetrics = "{where}"\n' for name, where in (metrics or {}).items()}
        with (self.members.guardian_folder / "site.toml").open("a") as file:
            file.write(told.get("guardian", ""))
        registries = {name: new_registry() for name in ("guardian", *PARTIES)}
        with ExitStack() as stack:
            folder = self.members.guardian_folder
            address = stack.enter_context(
                guardian(folder, sleep=lambda _: None, registry=registries["guardian"])
            )
            calls = Calls(self.members, address)
            stack.callback(calls.close)
            addresses = {}
            for name in PARTIES:
                shutil.copytree(ensembles[name], self.party(name) / "teachers", dirs_exist_ok=True)
                self._write(name, "party", self.party(name), address, listen="127.0.0.1:0")
                with (self.party(name) / "site.toml").open("a") as file:
                    file.write(LIMITS + told.get(name, ""))
                addresses[name] = stack.enter_context(
                    party(self.party(name), stop=Stop(), again_s=3600, registry=registries[name])
                )
                calls.budget(name, 1e9)
            self._write("q", "query", self.site, address, parties=addresses)
            yield calls, registries

    def label(self, registries: Registries, **plan: Any) -> LabelResult:
        """Run one session over the whole pool, in two batches."""
        usual: dict[str, Any] = {"mechanism": MECHANISM, "quorum": 2, "batch_size": QUERIES // 2}
        options = PlanOptions(**usual | plan)
        with observing(self.site) as registry:
            registries["query"] = registry
            how = LabellingRun(watch=QueryMetrics(registry), retry=QUICK)
            return label(self.site, self.pool, options, self.members.root / "run", run=how)

    def _forget(self) -> None:
        for folder in (self.members.guardian_folder, *map(self.party, PARTIES)):
            for file in folder.glob("*.db*"):
                file.unlink()
            shutil.rmtree(folder / "teachers", ignore_errors=True)
        shutil.rmtree(self.members.root / "run", ignore_errors=True)

    def _write(self, name: str, role: Any, folder: Path, address: str, **fields: Any) -> None:
        write_site(
            SiteConfig(federation=FEDERATION, site=name, role=role, guardian=address, folder=folder, **fields)
        )
