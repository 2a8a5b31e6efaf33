"""Votes and DP-SGD compared with Opacus at the same epsilon."""

import warnings
from statistics import fmean

from benchmarks.capc_multilabel.cells import Bench
from benchmarks.capc_multilabel.data import DELTA, EPSILONS, QUICK, SETTINGS
from benchmarks.reproduce.cell import Figure, Job, Outcome
from ostraka.client.students.dp_sgd.guarantee import calibrate

TRAININGS = ((1.0, 0.02, 500), (8.0, 0.05, 400))
"""Epsilon, probability that a record is in a batch, and number of batches."""


def training_noise(job: Job) -> Outcome:
    """Compare the noise of DP-SGD here with the noise that Opacus finds for the same epsilon."""
    from opacus.accountants.utils import get_noise_multiplier

    figures = []
    for epsilon, rate, steps in TRAININGS[:1] if job.quick else TRAININGS:
        ours = calibrate(epsilon, DELTA, rate, steps).multiplier
        for accountant in ("rdp", "prv"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = get_noise_multiplier(
                    target_epsilon=epsilon,
                    target_delta=DELTA,
                    sample_rate=rate,
                    steps=steps,
                    accountant=accountant,
                )
            name = f"epsilon {epsilon:g}: noise multiplier, beside Opacus by {accountant.upper()}"
            figures.append(Figure(name, (ours,), theirs, "lower", close=0.01))
    return Outcome(tuple(figures))


def votes_and_dp_sgd(job: Job) -> Outcome:
    """Compare votes with Opacus's central DP-SGD at the same epsilon."""
    setting = QUICK if job.quick else SETTINGS[1]
    bench = Bench(setting, job.folder / "capc_multilabel")
    figures = []
    for epsilon in EPSILONS:
        ours, theirs = (
            [measure for seed in job.seeds if (measure := bench.central(method, epsilon, seed).found.measure)]
            for method in ("Binary PATE, linear", "DP-SGD")
        )
        figures += [
            Figure(
                f"epsilon {epsilon:g}: {name} by votes, %",
                tuple(100 * getattr(one, field) for one in ours),
                100 * fmean(getattr(one, field) for one in theirs),
                "higher",
            )
            for name, field in (("ACC", "acc"), ("BAC", "bac"), ("AUC", "auc"), ("mAP", "map"))
        ]
    return Outcome(tuple(figures))
