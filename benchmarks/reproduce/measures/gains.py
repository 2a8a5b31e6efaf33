"""Why querying parties gain more in Table 1 of Dziedzic et al. 2023 than here: one factor at a time."""

from collections import defaultdict
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.caching import digest
from benchmarks.capc_multilabel.data import QUERYING, Records, deal, load
from benchmarks.capc_multilabel.data import QUICK as YEAST_QUICK
from benchmarks.capc_multilabel.models import (
    LEARNING,
    Scores,
    balanced_accuracy,
    fit,
    load_or_predict,
    scores,
    weakest,
)
from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.capc_multilabel.retraining import choose_queries
from benchmarks.capc_multilabel.sessions import session
from benchmarks.dpsgd.measures import YES
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.against_dpsgd import EPSILON, VOTES, Task, quality, voters
from benchmarks.reproduce.measures.canvases import QUICK, Canvases
from benchmarks.reproduce.measures.retraining import YEAST
from ostraka.common.mechanism import Binary
from ostraka.guardian.noise import NoiseSource

Labels = NDArray[np.int64]
SHARES = (1, 3, 10)
"""Factors on the private canvases that parties share."""
RELEASED = "released labels"
NOISELESS = "the same without noise"
TRUE = "true labels of the same queries"
ALL = "true labels of the whole pool"
PAPER = 5.0
"""Points of balanced accuracy, VOC at epsilon 20."""


def label_queries(true: Labels, others: Scores, mechanism: Binary, noise: NoiseSource) -> dict[str, Labels]:
    """Return possible labels of the first queries, by their origin."""
    released = session(others, mechanism, EPSILON, noise).answers
    count = len(released)
    plurality = ((others[:, :count] >= YES).mean(axis=0) > YES).astype(np.int64)
    return {RELEASED: released, NOISELESS: plurality, TRUE: true[:count], ALL: true}


def why(job: Job) -> Outcome:
    """Vary the number of a party's records, and the labels that it gets; on canvases and on yeast."""
    size = QUICK if job.quick else Canvases()
    figures = []
    gained = dict[str, float]()
    figures += _figures("yeast", [_yeast(job, seed) for seed in job.seeds], gained)
    for part in SHARES:
        records = size.private // part
        task = Task("last layer", size, records, 10)
        name = f"canvases, {records // size.voters} records a party"
        figures += _figures(name, [_canvases(task, seed) for seed in job.seeds], gained)
    most, least = (f"canvases, {size.private // part // size.voters} records a party" for part in (10, 1))
    return Outcome(
        tuple(figures),
        (
            Claim("the fewer records a party has the more it gains", gained[most] > gained[least]),
            Claim("by few records it gains what the paper's parties gain, and more", gained[most] >= PAPER),
            Claim(
                "on yeast true labels of the same queries give less than the paper's parties gain",
                gained[f"yeast: {TRUE}"] < PAPER,
            ),
        ),
    )


def _figures(name: str, found: list[dict[str, float]], gained: dict[str, float]) -> list[Figure]:
    by: dict[str, list[float]] = defaultdict(list)
    for one in found:
        for what, value in one.items():
            by[what].append(value)
    gained[name] = fmean(by[RELEASED])
    gained.update({f"{name}: {what}": fmean(values) for what, values in by.items()})
    told = {"before": "before: BAC, %", "queries": "queries", "means": "before, yes from the mean on: BAC, %"}
    return [
        Figure(f"{name}, {told.get(what, f'{what}: points of BAC')}", tuple(values))
        for what, values in by.items()
    ]


def _canvases(task: Task, seed: int) -> dict[str, float]:
    """Measure the weakest parties before and after, averaged."""
    split = task.split(seed)
    every = voters(task, seed)
    shares = np.array_split(np.arange(task.private), task.size.voters)
    found = defaultdict[str, list[float]](list)
    for party in weakest(every, split.pool.y):
        order = np.argsort(np.abs(every[party] - np.float32(YES)).mean(axis=1), kind="stable")
        own = split.private.rows(shares[party])
        queries = split.pool.rows(order)
        before = quality(task.learn(own, task.few), split)
        found["before"].append(before.bac)
        found["means"].append(before.at_means)
        others = np.delete(every[:, order], party, axis=0)
        noise = _noise(seed, int(party))
        for what, y in label_queries(queries.y, others, VOTES, noise).items():
            after = quality(task.learn(own.append(Records(queries.X[: len(y)], y)), task.few), split)
            found[what].append(after.bac - before.bac)
            if what == RELEASED:
                found["queries"].append(len(y))
    return {what: fmean(values) for what, values in found.items()}


def _yeast(job: Job, seed: int) -> dict[str, float]:
    """Measure the same for yeast's weakest parties, whose loss is balanced."""
    setting = YEAST_QUICK if job.quick else YEAST
    found = defaultdict[str, list[float]](list)
    split = deal(*load(setting), setting.parties, setting.pool, seed)
    settings = digest(setting.parties, setting.pool, QUERYING, LEARNING)
    spoken = load_or_predict(split, seed, job.folder / "gains" / f"said-{setting.name}-{seed}-{settings}.npz")
    for place in range(QUERYING):
        one = choose_queries(split, spoken, place)
        own = split.of(one.party)
        others = np.delete(one.said, one.party, axis=0)
        labels = label_queries(one.queries.y, others, setting.binary, _noise(seed, place))
        parts = [own.append(Records(one.queries.X[: len(y)], y)) for y in labels.values()]
        before, *after = (
            100 * balanced_accuracy(split.test.y, each)
            for each in scores(fit([own, *parts], seed), split.test.X, split.labels)
        )
        found["before"].append(before)
        for what, value in zip(labels, after, strict=True):
            found[what].append(value - before)
        found["queries"].append(len(labels[RELEASED]))
    return {what: fmean(values) for what, values in found.items()}


def _noise(seed: int, party: int) -> RepeatableNoise:
    return RepeatableNoise(np.random.default_rng((seed, party)))
