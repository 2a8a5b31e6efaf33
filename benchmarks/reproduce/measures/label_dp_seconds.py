"""Tables 7 and 8 of Tang et al. 2022 on digits: time to train, and to make labels private."""

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.label_dp import data
from benchmarks.label_dp.methods import Bench
from benchmarks.label_dp.one_hot import noisy_one_hot
from benchmarks.label_dp.paper import HOURS
from benchmarks.label_dp.settings import LP_1ST, NOISE_CLUSTER, PATE_FM
from benchmarks.label_dp.tables import NAMES
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.label_dp_cells import STAND_INS
from ostraka.guardian.noise import ExactNoise

EPSILON = 1.0  # any value: the number of draws does not depend on it
LABELS = 50_000  # CIFAR10's training records
CLASSES = 10
"""CIFAR10's."""
ALIBI_SECONDS = 0.03  # the paper's
PATE_FM_TIMES = 6000.0 / 21.3
"""PATE-FM's hours relative to NoiseCluster's."""


def training(job: Job) -> Outcome:
    """Table 7: each learner, from private labels, DenoiseSSL with its clusters; relative to LP-1ST's time."""
    spent = {method: _method(job, method) for method in HOURS}
    figures = [Figure(f"{NAMES[LP_1ST]}: processor seconds", (spent[LP_1ST],), better="lower")]
    figures += [
        Figure(
            f"{NAMES[method]}: times that", (spent[method] / spent[LP_1ST],), hours / HOURS[LP_1ST], "lower"
        )
        for method, hours in HOURS.items()
        if method != LP_1ST
    ]
    shortest = min(spent, key=spent.__getitem__)
    longest = max(spent, key=spent.__getitem__)
    return Outcome(
        tuple(figures),
        (
            Claim("LP-1ST takes least", shortest == LP_1ST),
            Claim("DenoiseSSL takes longest", longest == "denoise-ssl"),
        ),
    )


def labels(job: Job) -> Outcome:
    """Table 8: ALIBI's noise for as many labels as CIFAR10 has, clusters and PATE-FM on digits."""
    y = np.arange(LABELS // (10 if job.quick else 1)) % CLASSES
    alibi = _processor_seconds(lambda: noisy_one_hot(y, CLASSES, EPSILON, ExactNoise()))
    clusters, teachers = (_method(job, method) for method in (NOISE_CLUSTER, PATE_FM))
    return Outcome(
        (
            Figure(f"ALIBI, {len(y):,} labels: processor seconds", (alibi,), ALIBI_SECONDS, "lower"),
            Figure("NoiseCluster, digits: processor seconds", (clusters,), better="lower"),
            Figure("PATE-FM, digits: times that", (teachers / clusters,), PATE_FM_TIMES),
        ),
        (Claim("PATE-FM takes longest", teachers > max(alibi, clusters)),),
    )


def _method(job: Job, method: str) -> float:
    """Return the total time of a method, without any cache."""
    chosen = STAND_INS["digits"].of(job)
    split = data.load(chosen.dataset, chosen.size, seed=0)
    with TemporaryDirectory() as folder:
        bench = Bench(split, chosen.size, 0, Path(folder))
        return _processor_seconds(lambda: bench.measure(method, EPSILON))


def _processor_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start
