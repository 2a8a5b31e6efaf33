"""Figures 3 and 4 of Dziedzic et al. 2023: cost of k labels by Binary and by Powerset, on artificial
votes."""

import numpy as np

from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.elections import AT, Votes, by_label, queries_for_budget, sets
from ostraka.common.mechanism import Binary
from ostraka.guardian.accounting.numerics.arguments import Bound

TEACHERS = 50  # the paper's
SIGMA = 7.0  # the paper's
LABELS = 6  # the paper's; a set of them is one of 2^6 classes
BOUNDS: tuple[Bound, Bound] = ("theorem6", "exact")


def random_labels(job: Job) -> Outcome:
    """Figure 3: increasingly many labels are coin flips, the others get no votes; epsilon 20."""
    found = {
        (way, flips, bound): tuple(_count(_votes(flips, 20, seed), way, bound, 20.0) for seed in job.seeds)
        for flips in (0, 2, 4, LABELS)
        for way in ("Binary", "Powerset")
        for bound in BOUNDS
    }
    figures = tuple(
        Figure(f"{flips} of {LABELS} labels random: queries by {way}, {bound}", values, better="higher")
        for (way, flips, bound), values in found.items()
    )
    theorem6 = {(way, flips): np.mean(v) for (way, flips, bound), v in found.items() if bound == "theorem6"}
    return Outcome(
        figures,
        (
            Claim(
                "where all labels are random Powerset answers more than Binary",
                bool(theorem6["Powerset", LABELS] > theorem6["Binary", LABELS]),
            ),
            Claim(
                "random labels leave Powerset its bound whatever the votes",
                bool(theorem6["Powerset", LABELS] <= 1.05 * queries_for_budget(AT[None] / SIGMA**2, 20.0)),
            ),
        ),
    )


def equal_gaps(job: Job) -> Outcome:
    """Figure 4: all teachers say no to all labels; epsilon 2."""
    figures = []
    claims = []
    for labels in (2, 4, LABELS, 8):
        votes = np.zeros((TEACHERS, 1, labels), dtype=np.bool_)
        by = {
            (way, bound): _count(votes, way, bound, 2.0) for way in ("Binary", "Powerset") for bound in BOUNDS
        }
        figures += [
            Figure(f"{labels} labels: queries by {way}, {bound}", (value,), better="higher")
            for (way, bound), value in by.items()
        ]
        claims.append(by["Binary", "theorem6"] > by["Powerset", "theorem6"])
    return Outcome(
        tuple(figures),
        (Claim("at equal gaps Binary answers more than Powerset, however many labels", all(claims)),),
    )


def _votes(flips: int, queries: int, seed: int) -> Votes:
    """Return teachers' votes on queries, (teachers, queries, labels)."""
    votes = np.zeros((TEACHERS, queries, LABELS), dtype=np.bool_)
    votes[..., :flips] = np.random.default_rng(seed).integers(0, 2, (TEACHERS, queries, flips))
    return votes


def _count(votes: Votes, way: str, bound: Bound, epsilon: float) -> float:
    """Return how many such queries one budget pays for, at the best order for them."""
    rdp = by_label(votes, Binary(sigma=SIGMA), bound) if way == "Binary" else sets(votes, SIGMA, bound)
    return queries_for_budget(rdp, epsilon)
