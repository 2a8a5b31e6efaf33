"""Tables 1, 2 and 12 of Dziedzic et al. 2023, by `benchmarks.capc_multilabel`: yeast in place of images."""

from collections import defaultdict
from statistics import fmean

from benchmarks.capc_multilabel.cells import CENTRAL, Bench
from benchmarks.capc_multilabel.data import EPSILONS, QUICK, SETTINGS, Setting
from benchmarks.dpsgd.measures import Measure
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome

YEAST = SETTINGS[1]
GAIN = 0.02
"""In balanced accuracy, on CheXpert: the mean of Figure 2."""
LARGER = 20.0
"""The larger budget."""


def _setting(job: Job) -> Setting:
    return QUICK if job.quick else YEAST


def querying_parties(job: Job, mechanism: str) -> Outcome:
    """Tables 1, 11 and 12: the weakest parties before and after they ask, averaged by seed."""
    bench = Bench(_setting(job), job.folder / "capc_multilabel")
    by: dict[str, list[float]] = defaultdict(list)
    for seed in job.seeds:
        turns = bench.retrain(mechanism, seed).found.turns
        for name in ("acc", "bac", "auc", "map"):
            label = {"map": "mAP"}.get(name, name.upper())
            by[f"before: {label}, %"].append(100 * fmean(getattr(turn.before, name) for turn in turns))
            for budget in EPSILONS:
                own = [turn for turn in turns if turn.budget == budget]
                by[f"after, epsilon {budget:g}: {label}, %"].append(
                    100 * fmean(getattr(turn.after, name) for turn in own)
                )
    before = by["before: BAC, %"]
    after = by[f"after, epsilon {LARGER:g}: BAC, %"]
    return Outcome(
        tuple(Figure(name, tuple(values)) for name, values in by.items()),
        (Claim("querying parties gain balanced accuracy", fmean(after) > fmean(before)),),
    )


def gains(job: Job) -> Outcome:
    """Figures 2, 16 and 18: querying parties' gain in balanced accuracy."""
    bench = Bench(_setting(job), job.folder / "capc_multilabel")
    points = defaultdict(list)
    for seed in job.seeds:
        turns = bench.retrain("binary", seed).found.turns
        for budget in EPSILONS:
            points[budget].append(
                100 * fmean(turn.after.bac - turn.before.bac for turn in turns if turn.budget == budget)
            )
    figures = tuple(
        Figure(
            f"epsilon {budget:g}: points of BAC gained",
            tuple(values),
            100 * GAIN if budget == LARGER else None,
            "higher",
        )
        for budget, values in points.items()
    )
    return Outcome(figures, (Claim("the mean gain is above 0", all(fmean(v) > 0 for v in points.values())),))


def one_place(job: Job) -> Outcome:
    """Table 2: central learning without privacy, by DP-SGD and from votes."""
    bench = Bench(_setting(job), job.folder / "capc_multilabel")
    by: dict[tuple[str, float | None], list[Measure]] = defaultdict(list)
    for method, epsilon in CENTRAL:
        if epsilon in (None, LARGER):
            for seed in job.seeds:
                if found := bench.central(method, epsilon, seed).found.measure:
                    by[method, epsilon].append(found)
    figures = [
        Figure(f"{method}: {name}, %", tuple(100 * getattr(one, field) for one in measures))
        for (method, _), measures in by.items()
        for name, field in (("ACC", "acc"), ("BAC", "bac"), ("AUC", "auc"), ("mAP", "map"))
    ]
    best = {method: fmean(one.bac for one in measures) for (method, _), measures in by.items()}
    binary = max(best.get("Binary PATE, MixMatch", 0.0), best.get("Binary PATE, linear", 0.0))
    powerset = max(best.get("Powerset PATE, MixMatch", 0.0), best.get("Powerset PATE, linear", 0.0))
    return Outcome(
        tuple(figures),
        (
            Claim("Binary PATE beats DP-SGD in balanced accuracy", binary > best["DP-SGD"]),
            Claim("Binary PATE beats Powerset PATE in balanced accuracy", binary > powerset),
        ),
    )
