"""Federations whose teachers have linear heads, queried in all four combinations of the two switches."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import BatchState, load_state
from ostraka.common.mechanism import Mechanism
from ostraka.deploy.simulation.federation import QUERY, Federation
from ostraka.deploy.simulation.processes import Supervisor
from ostraka.deploy.simulation.split import Split
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.encrypted_heads import heads_of
from ostraka.services.teachers.ensemble import Ensemble
from ostraka.services.teachers.training import train
from tests.e2e.sites import SETTINGS, SOON, Sites, place

HEADS = SETTINGS.model_copy(update={"model": None, "head": "linear"})


def train_heads(folder: Path, split: Split) -> Path:
    """Train every party's teachers, one folder per party."""
    federation = Federation(folder / "sites", HEADS, Supervisor(folder / "logs"))
    federation.provision()
    task = federation.place(split)
    config = TrainingConfig(teachers=HEADS.teaching.teachers, head=HEADS.teaching.head)
    for site, shard in zip(HEADS.sites, split.shards, strict=True):
        train(shard, task, config, seed=0).save(folder / site)
    return folder


def placed(folder: Path, trained: Path, split: Split, processes: Supervisor) -> Sites:
    """Make a federation with these teachers, not yet started."""
    return place(folder, HEADS, trained, split, processes)


@dataclass(frozen=True)
class Asked:
    """A session with its own run folder."""

    sites: Sites
    run: Path
    result: LabelResult

    @property
    def batches(self) -> tuple[BatchState, ...]:
        """Every batch that was asked for, with its outcome."""
        return load_state(self.run).batches

    @property
    def labels(self) -> NDArray[np.int64]:
        """The released label of every query, -1 if there is none."""
        answers = load_state(self.run).answers()
        found = [answers.get(query) for query in range(self.result.queries)]
        return np.array([-1 if one is None else one for one in found], np.int64)


def ask(sites: Sites, mechanism: Mechanism, name: str, **options: Any) -> Asked:
    """Label the pool in a run folder of this name; arguments that are no plan options go to `label`."""
    site = sites.folder / QUERY
    others: dict[str, Any] = {"retry": SOON}
    others |= {key: options.pop(key) for key in ("on_progress", "on_step", "retry") if key in options}
    chosen: dict[str, Any] = {"quorum": 2, **options}
    plan = PlanOptions(mechanism=mechanism, batch_size=HEADS.plan.batch_size, **chosen)
    result = label(site, site / "pool.npz", plan, site / name, run=LabellingRun(**others))
    return Asked(sites, site / name, result)


def encrypted_logits(sites: Sites) -> NDArray[np.float64]:
    """Return the logits of the heads of all parties' teachers on the pool, (teachers, queries, classes)."""
    X = sites.task.prepare(sites.split.pool.X)
    ensembles = [Ensemble.load(sites.folder / site / "teachers") for site in HEADS.sites]
    return np.stack([head.plain(X) for one in ensembles for head in heads_of(one)])
