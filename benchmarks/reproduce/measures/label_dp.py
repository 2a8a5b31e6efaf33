"""Tables 2 to 5 of Tang et al. 2022, by `benchmarks.label_dp`, on available data."""

from collections.abc import Iterator

from benchmarks.label_dp.settings import (
    AUG_DESCENT,
    DENOISE_SSL,
    FRAMEWORK,
    LDP_SSL,
    NON_PRIVATE,
    PATE_FM,
    PATE_FM_LEARNERS,
)
from benchmarks.label_dp.tables import NAMES
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.label_dp_cells import STAND_INS, Column, StandIn, accuracies, mean

RANDOMIZED = (DENOISE_SSL, LDP_SSL, AUG_DESCENT)
"""Learners of labels by RandRes."""


def labels(job: Job, on: str = "mnist") -> Outcome:
    """Table 2, the row of PATE-FM: its student's predictions for all training records."""
    chosen = STAND_INS[on].of(job)
    found = accuracies(job, chosen, (PATE_FM,), chosen.paper.epsilons, "private")
    return Outcome(
        tuple(
            Figure(
                f"epsilon {epsilon:g}: right, %",
                tuple(values),
                chosen.paper.labels(PATE_FM, epsilon or 0.0),
                "higher",
            )
            for (_, epsilon), values in found.items()
        )
    )


def students(job: Job, on: str = "mnist") -> Outcome:
    """Tables 3 to 5, without the rows whose learners doubt PATE-FM's labels."""
    chosen = STAND_INS[on].of(job)
    found = accuracies(job, chosen, (*FRAMEWORK, NON_PRIVATE), chosen.paper.epsilons)
    return Outcome(_figures(found, chosen), tuple(_claims(found, chosen)))


def learners_of_pate_fm(job: Job, on: str = "mnist") -> Outcome:
    """Tables 3 to 5, with learners that doubt the labels by PATE-FM's student for all training records."""
    chosen = STAND_INS[on].of(job)
    return Outcome(_figures(accuracies(job, chosen, PATE_FM_LEARNERS, chosen.paper.epsilons), chosen))


def _figures(found: Column, chosen: StandIn) -> tuple[Figure, ...]:
    return tuple(
        Figure(
            f"{NAMES[method]}, {'no privacy' if epsilon is None else f'epsilon {epsilon:g}'}: right, %",
            tuple(values),
            chosen.paper.student(method, epsilon),
            "higher",
        )
        for (method, epsilon), values in found.items()
    )


def _claims(found: Column, chosen: StandIn) -> Iterator[Claim]:
    """Yield the paper's orders at its smallest and its largest epsilon (sections 5.3 and 6)."""
    least = min(chosen.paper.epsilons)
    most = max(chosen.paper.epsilons)
    denoise, ldp = (mean(found, method, least) for method in (DENOISE_SSL, LDP_SSL))
    if denoise is not None and ldp is not None:
        yield Claim(f"at epsilon {least:g} DenoiseSSL beats LDP-SSL", denoise > ldp)
    best = max(RANDOMIZED, key=lambda method: mean(found, method, most) or 0.0)
    yield Claim(f"at epsilon {most:g} LDP-Aug-Descent is the best of RandRes's learners", best == AUG_DESCENT)
