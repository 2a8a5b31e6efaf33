"""Why DP-SGD is worse than votes in Table 2 of Dziedzic et al. 2023, and better here: one factor at a
time."""

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from benchmarks.capc_multilabel.data import DELTA, Records
from benchmarks.capc_multilabel.models import Scores, balanced_accuracy
from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.capc_multilabel.sessions import session
from benchmarks.dpsgd.learning import Network, Trained, Training, dpsgd
from benchmarks.dpsgd.measures import measure
from benchmarks.dpsgd.networks import linear
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.canvases import QUICK, Canvases, Dealt, dealt, last_layer, whole_network
from ostraka.common.mechanism import Binary

EPSILON = 20.0  # the paper's
VOTES = Binary(sigma=7)
"""The paper's mechanism for VOC, also for 50 teachers."""
Model = Literal["pixels, linear", "last layer", "whole network"]
MODELS: tuple[Model, ...] = ("pixels, linear", "last layer", "whole network")
SLOW = 0.0002  # far too small
RATE = {"pixels, linear": 0.1, "last layer": 0.1, "whole network": 0.02}
"""Learning rates: one that is far too small, and those for a voter's few records."""
RATES = (SLOW, 0.02, 0.1)
EPOCHS = {"pixels, linear": 8, "last layer": 10, "whole network": 2}
EPOCHS_OF_FEW = 10
"""Epochs of voters and students, which have few records."""


@dataclass(frozen=True)
class Task:
    """A learning task: model, number of private records, and number of labels."""

    model: Model
    size: Canvases
    private: int
    labels: int

    def split(self, seed: int) -> Dealt:
        """Return the records of a seed."""
        found = (last_layer if self.model == "last layer" else dealt)(self.size, seed)
        parts = (found.private.rows(np.arange(self.private)), found.pool, found.test)
        return Dealt(*(Records(one.X, one.y[:, : self.labels]) for one in parts))

    @property
    def network(self) -> Network:
        """The function that builds the network."""
        if self.model != "whole network":
            return linear
        return lambda features, outputs: whole_network(self.size, outputs)

    @property
    def few(self) -> Training:
        """The training of voters and students."""
        return Training(epochs=EPOCHS_OF_FEW, batch=16, rate=RATE[self.model])

    def learn(self, of: Records, how: Training, epsilon: float | None = None, seed: int = 0) -> Trained:
        """Train the model on records."""
        return dpsgd(
            of.X,
            of.y,
            epsilon,
            DELTA,
            classes=self.labels,
            network=self.network,
            training=how,
            seed=seed,
        )


@dataclass(frozen=True)
class Found:
    """Balanced accuracy with threshold one half and with each label's mean on the pool; ranks; all in %."""

    bac: float
    at_means: float
    auc: float
    queries: int | None = None


def quality(model: Trained, split: Dealt, queries: int | None = None) -> Found:
    """Measure a model on the test records."""
    tested = model.predict_proba(split.test.X)
    means = model.predict_proba(split.pool.X).mean(axis=0)
    found = measure(split.test.y, tested)
    above = balanced_accuracy(split.test.y, (tested >= means).astype(np.int64))
    return Found(100 * found.bac, 100 * above, 100 * found.auc, queries)


def by_dpsgd(task: Task, rate: float, seed: int) -> Found:
    """Train by DP-SGD on all private records."""
    split = task.split(seed)
    how = Training(epochs=EPOCHS[task.model], batch=128, rate=rate)
    return quality(task.learn(split.private, how, EPSILON, seed), split)


def without(task: Task, seed: int) -> Found:
    """Train one model on all private records."""
    split = task.split(seed)
    how = Training(epochs=EPOCHS[task.model], batch=128, rate=RATE[task.model])
    return quality(task.learn(split.private, how, None, seed), split)


def voters(task: Task, seed: int) -> Scores:
    """Return each voter's predictions, trained on its own share, for the pool, (voters, pool, labels)."""
    split = task.split(seed)
    shares = np.array_split(np.arange(task.private), task.size.voters)
    said = [task.learn(split.private.rows(own), task.few).predict_proba(split.pool.X) for own in shares]
    return np.stack(said).astype(np.float32)


def by_votes(task: Task, seed: int) -> Found:
    """Train a student on what Binary releases of the voters' votes."""
    split = task.split(seed)
    found = session(voters(task, seed), VOTES, EPSILON, RepeatableNoise(np.random.default_rng(seed)))
    asked = len(found.answers)
    student = task.learn(Records(split.pool.X[:asked], found.answers), task.few)
    return quality(student, split, asked)


def why(job: Job) -> Outcome:
    """Vary model, records, labels and learning rate, one at a time."""
    size = QUICK if job.quick else Canvases()
    tasks = {name: Task(name, size, size.private, 10) for name in MODELS}
    base = tasks["last layer"]
    shares = {size.private // part: replace(base, private=size.private // part) for part in (1, 3, 10)}
    rates = RATES[:2] if job.quick else RATES
    slow = {rate: [by_dpsgd(tasks["whole network"], rate, seed) for seed in job.seeds] for rate in rates}
    figures: list[Figure] = []
    for rate, found in slow.items():
        figures += _figures(f"whole network, rate {rate:g}: DP-SGD", found)
    means: dict[str, tuple[float, float]] = {}
    compared = {
        **{f"by {name}": task for name, task in tasks.items()},
        **{f"{records} records": task for records, task in shares.items() if records != size.private},
        "3 labels": replace(base, labels=3),
    }
    for name, task in compared.items():
        dp = _best(task, job, slow if task.model == "whole network" else None)
        votes = [by_votes(task, seed) for seed in job.seeds]
        figures += _bac(f"{name}: without privacy", [without(task, seed) for seed in job.seeds])
        figures += _bac(f"{name}: DP-SGD", dp)
        figures += _bac(f"{name}: Binary PATE", votes)
        figures.append(Figure(f"{name}: queries", tuple(float(one.queries or 0) for one in votes)))
        means[name] = _mean(votes), _mean(dp)
    deep, shallow = (means[f"by {name}"] for name in ("whole network", "last layer"))
    return Outcome(
        tuple(figures),
        (
            Claim(
                "votes beat DP-SGD of the whole network at the least of its rates",
                deep[0] > _mean(slow[SLOW]),
            ),
            Claim("and DP-SGD at the best of its rates, whole network", deep[0] > deep[1]),
            Claim("and DP-SGD at the best of its rates, last layer alone", shallow[0] > shallow[1]),
        ),
    )


def _best(task: Task, job: Job, known: dict[float, list[Found]] | None) -> list[Found]:
    """Return DP-SGD at the best rate on test records, which favours it."""
    rates = (0.5, 0.1)[: 1 if job.quick else 2]
    tried = known or {rate: [by_dpsgd(task, rate, seed) for seed in job.seeds] for rate in rates}
    return max(tried.values(), key=_mean)


def _mean(found: list[Found]) -> float:
    return float(np.mean([one.bac for one in found]))


def _bac(name: str, found: list[Found]) -> list[Figure]:
    return [Figure(f"{name}: BAC, %", tuple(one.bac for one in found))]


def _figures(name: str, found: list[Found]) -> list[Figure]:
    return [
        *_bac(name, found),
        Figure(f"{name}: BAC, yes from the mean on, %", tuple(one.at_means for one in found)),
        Figure(f"{name}: AUC, %", tuple(one.auc for one in found)),
    ]
