"""Why dependencies pay for 3.6 times the queries in Table 4 of Dziedzic et al. 2023, and for fewer here."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

import numpy as np

from benchmarks.capc_multilabel.noise import RepeatableNoise
from benchmarks.dependencies.asking import Counted, parents_first
from benchmarks.dependencies.cells import QUICK, SETTINGS
from benchmarks.dependencies.votes import Votes, votes
from benchmarks.dpsgd.measures import measure
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from ostraka.guardian.accounting.numerics.arguments import Bound

PAPER = 127 / 35  # Table 4: queries by dependencies, over queries of all labels
LABELS = 5  # the paper's
VOTERS = 50  # the paper's
SIGMA = 12.0
"""The paper's labels and voters; the noise of yeast's."""
PRESENT = (5, 9, 20, 40, 80)
"""Frequencies of the artificial parent, in % of the queries; at 9%, five labels give 3.6 times the
queries."""
NEAR = 0.15
"""Relative distance at which a ratio counts as the paper's."""
RIGHT = 0.9
"""Accuracy of artificial votes."""
Families = Mapping[int, Sequence[int]]
BOUND = "all labels over those asked"
WORST = "times the queries, whatever the votes"
EXACT = "times the queries, by the votes"
ACC = "ACC, %"
BAC = "BAC, %"
WAYS = (BOUND, WORST, EXACT, ACC, BAC)


def _below(voted: Votes, place: float) -> Families:
    """Return all labels as children of one parent, by its position from the rarest."""
    ranked = np.argsort(voted.own.mean(axis=0), kind="stable")
    parent = int(ranked[int(place * len(ranked))])
    return {parent: [label for label in range(len(ranked)) if label != parent]}


RULES: Mapping[str, Callable[[Votes], Families]] = {
    "all labels": lambda voted: {},
    "confidence 0.9": lambda voted: voted.families(0.9),
    "all below the middle label": lambda voted: _below(voted, 0.5),
    "confidence 0.7": lambda voted: voted.families(0.7),
    "all below a rare label": lambda voted: _below(voted, 0.15),
    "all below the rarest label": lambda voted: _below(voted, 0.0),
}


def why(job: Job) -> Outcome:
    """Vary the confidence of dependencies, the common parent, and the parent's frequency."""
    setting = QUICK if job.quick else SETTINGS[0]
    voted = [
        votes(setting.shared, setting.teachers, setting.pool, seed, job.folder / "dependencies")
        for seed in job.seeds
    ]
    figures: list[Figure] = []
    for name, families in RULES.items():
        found = [_measure(one, families(one), setting.sigma) for one in voted]
        figures += _figures(f"yeast, {name}", found)[3 if name == "all labels" else 0 :]
    for percent in PRESENT:
        found = [_measure_made_votes(percent / 100, seed) for seed in job.seeds]
        figures += _figures(f"made labels, parent in {percent}%", found)
    values = {figure.name: fmean(figure.values) for figure in figures}
    made = "made labels, parent in 9%"
    sure = "yeast, confidence 0.9"
    middle = "yeast, all below the middle label"
    return Outcome(
        tuple(figures),
        (
            Claim(
                "a parent in 9% of the queries gives the paper's ratio",
                abs(values[f"{made}: {WORST}"] / PAPER - 1) < NEAR,
            ),
            Claim(
                "true dependencies save less by the votes than whatever the votes",
                values[f"{sure}: {EXACT}"] < values[f"{sure}: {WORST}"],
            ),
            Claim(
                "one parent of all, which implies nothing, gives the paper's ratio of queries too",
                abs(values[f"{middle}: {EXACT}"] / PAPER - 1) < NEAR,
            ),
            Claim(
                "and takes more balanced accuracy than accuracy leaves to see",
                values[f"{middle}: {BAC}"] < 50 + (values[f"yeast, all labels: {BAC}"] - 50) / 2,
            ),
        ),
    )


def _figures(name: str, found: Sequence[Sequence[float]]) -> list[Figure]:
    return [
        Figure(f"{name}: {way}", tuple(column))
        for way, column in zip(WAYS, zip(*found, strict=True), strict=True)
    ]


def _measure_made_votes(present: float, seed: int) -> tuple[float, ...]:
    """Measure artificial votes with random errors, on children that never occur without their parent."""
    random = np.random.default_rng(seed)
    true = (random.random((1500, LABELS)) < 0.5).astype(np.int64)
    true[:, 0] = random.random(len(true)) < present
    true[true[:, 0] == 0] = 0
    right = random.random((VOTERS, *true.shape)) < RIGHT
    return _measure(Votes(np.where(right, true, 1 - true) == 1, true, true), {0: range(1, LABELS)}, SIGMA)


def _measure(voted: Votes, families: Families, sigma: float) -> tuple[float, ...]:
    """Return WAYS: the savings of dependencies, and the accuracy of the pool's labels."""
    counted = Counted(voted.yes.sum(axis=0, dtype=np.int64), len(voted.yes), sigma)
    labels, asked = parents_first(counted.release(RepeatableNoise(np.random.default_rng(0))), families)
    everything = np.ones_like(asked)
    bounds: tuple[Bound, ...] = ("worst_case", "exact")
    ratios = (counted.fitting(asked, bound) / counted.fitting(everything, bound) for bound in bounds)
    found = measure(voted.true, labels.astype(np.float64))
    return asked.size / asked.sum(), *ratios, 100 * found.acc, 100 * found.bac
