"""Figures of Dziedzic et al. 2023 for choosing noise, tau and mechanisms, on votes about yeast's labels."""

import numpy as np

from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures import yeast
from benchmarks.reproduce.measures.elections import (
    ByLabel,
    Votes,
    by_label,
    queries_for_budget,
    set_counts,
    sets,
)
from ostraka.common.mechanism import L1, Binary, Tau

EPSILON = 20.0  # the paper's
SIGMA = 7.0  # the paper's for 50 voters
SIGMAS = (3.0, 7.0, 12.0, 20.0, 30.0)
TAUS = (1.0, 1.4, 1.8, 2.2, 2.8)
TAUS_L1 = (1.0, 2.0, 3.4, 5.0, 8.0)
BUDGETS = (2.0, 5.0, 10.0, 20.0)
QUERIES = 200
"""Number of queries that costs are averaged over."""


def noise(job: Job) -> Outcome:
    """Figures 8, 14 and 19: accuracy of released labels with more noise, by label and by set."""
    yes, true = yeast.load_votes(job)
    few = min(8, yes.shape[2])

    def binary(sigma: float, random: np.random.Generator) -> float:
        return yeast.bac(true[:, :few], yeast.by_label(yes[..., :few], Binary(sigma=sigma), random))

    def powerset(sigma: float, random: np.random.Generator) -> float:
        return yeast.bac(true[:, :few], yeast.by_set(yes[..., :few], sigma, random))

    named = {"Binary": binary, "Powerset": powerset}
    found = {
        (way, sigma): tuple(100 * released(sigma, np.random.default_rng(seed)) for seed in job.seeds)
        for way, released in named.items()
        for sigma in SIGMAS
    }
    loss = {way: np.mean(found[way, 3.0]) - np.mean(found[way, 12.0]) for way in named}
    return Outcome(
        tuple(Figure(f"{way}, sigma {sigma:g}: BAC, %", values) for (way, sigma), values in found.items()),
        (
            Claim("noise takes more from Powerset than from Binary", bool(loss["Powerset"] > loss["Binary"])),
            Claim(
                "much noise takes accuracy from Binary too",
                bool(np.mean(found["Binary", 30.0]) < np.mean(found["Binary", 3.0]) - 2),
            ),
        ),
    )


def clipping(job: Job, norm: str) -> Outcome:
    """Figures 12 and 13: accuracy of labels with stronger clipping of ballots."""
    yes, true = yeast.load_votes(job)
    taus = TAUS if norm == "L2" else TAUS_L1
    whole = yeast.bac(true, yeast.by_label(yes, Binary(sigma=SIGMA), np.random.default_rng(0)))
    found = {
        tau: tuple(
            100
            * yeast.bac(true, yeast.by_label(yes, _mechanism(norm, tau, SIGMA), np.random.default_rng(seed)))
            for seed in job.seeds
        )
        for tau in taus
    }
    return Outcome(
        (
            Figure("not clipped: BAC, %", (100 * whole,)),
            *(Figure(f"tau {tau:g}: BAC, %", values) for tau, values in found.items()),
        ),
        (
            Claim("the largest tau costs no point", bool(np.mean(found[taus[-1]]) > 100 * whole - 1)),
            Claim("the least takes more than a point", bool(np.mean(found[taus[0]]) < 100 * whole - 1)),
        ),
    )


def mechanisms(job: Job) -> Outcome:
    """Figures 1 and 15: queries that one budget pays for with more noise, by mechanism."""
    yes, _ = yeast.load_votes(job)
    some = yes[:, :QUERIES]
    found = {sigma: _pay(some, sigma) for sigma in SIGMAS}
    figures = tuple(
        Figure(f"sigma {sigma:g}: queries by {name}", (value,), better="higher")
        for sigma, row in found.items()
        for name, value in row.items()
    )
    quiet = found[SIGMAS[0]]
    loud = found[SIGMAS[-1]]
    return Outcome(
        figures,
        (
            Claim("with little noise Binary pays for most", quiet["Binary"] == max(quiet.values())),
            Claim("with much noise clipped ballots do", loud["Binary"] < loud["tau, L2"]),
        ),
    )


def _pay(yes: Votes, sigma: float) -> dict[str, float]:
    l2 = _mechanism("L2", 1.8, sigma)
    l1 = _mechanism("L1", 3.4, sigma)
    return {
        "Binary": queries_for_budget(by_label(yes, Binary(sigma=sigma), "theorem6"), EPSILON),
        "tau, L2": queries_for_budget(by_label(yes, l2, "exact"), EPSILON),
        "tau, L2, whatever the votes": queries_for_budget(by_label(yes, l2, "worst_case"), EPSILON),
        "tau, L1, whatever the votes": queries_for_budget(by_label(yes, l1, "worst_case"), EPSILON),
    }


def labels(job: Job) -> Outcome:
    """Tables 5 and 6 and Figure 7: queries by the number of labels."""
    yes, _ = yeast.load_votes(job)
    chosen = [few for few in (3, 5, 8, 11) if few <= yes.shape[2]]
    ratios = []
    figures = []
    for few in chosen:
        some = yes[:, :QUERIES, :few]
        binary = queries_for_budget(by_label(some, Binary(sigma=SIGMA), "theorem6"), EPSILON)
        powerset = queries_for_budget(sets(some, SIGMA, "theorem6"), EPSILON)
        figures += [
            Figure(f"{few} labels: queries by Binary", (binary,), better="higher"),
            Figure(f"{few} labels: queries by Powerset", (powerset,), better="higher"),
        ]
        ratios.append(binary / powerset)
    return Outcome(
        tuple(figures),
        (
            Claim("Binary answers more than Powerset", min(ratios) > 1),
            Claim("the more so the more labels there are", ratios[-1] > ratios[0]),
        ),
    )


def most_labels(job: Job) -> Outcome:
    """Table 8: queries by Powerset if a ballot has at most tau of five labels."""
    yes, _ = yeast.load_votes(job)
    some = yes[:, :QUERIES, :5]
    found = {most: queries_for_budget(sets(some, SIGMA, "theorem6", most), EPSILON) for most in range(1, 6)}
    return Outcome(
        tuple(Figure(f"at most {most}: queries", (value,), better="higher") for most, value in found.items()),
        (Claim("fewer labels at most pay for more queries", found[1] > found[5]),),
    )


def gaps(job: Job) -> Outcome:
    """Figure 9: the winner's lead, by label and by set, as a share of the voters."""
    yes, _ = yeast.load_votes(job)
    by_bit = np.abs(2 * yes.sum(axis=0) - len(yes)).ravel() / len(yes)
    ordered = np.sort(set_counts(yes), axis=1)
    by_set = (ordered[:, -1] - ordered[:, -2]) / len(yes)
    figures = [
        Figure(
            f"{way}: gaps of at most {share:.0%} of the voters, %", (100 * float((found <= share).mean()),)
        )
        for way, found in (("Binary", by_bit), ("Powerset", by_set))
        for share in (0.1, 0.25, 0.5, 0.75)
    ]
    return Outcome(
        tuple(figures),
        (
            Claim("most gaps of Binary are large", bool(np.median(by_bit) > 0.5)),
            Claim("most gaps of Powerset are small", bool(np.median(by_set) < 0.25)),
        ),
    )


def budgets(job: Job) -> Outcome:
    """Table 10: queries by Binary for each budget."""
    yes, _ = yeast.load_votes(job)
    rdp = by_label(yes[:, :QUERIES], Binary(sigma=SIGMA), "theorem6")
    found = {epsilon: queries_for_budget(rdp, epsilon) for epsilon in BUDGETS}
    return Outcome(
        tuple(
            Figure(f"epsilon {epsilon:g}: queries", (value,), better="higher")
            for epsilon, value in found.items()
        ),
        (Claim("twice the budget pays for more than twice the queries", found[20.0] > 2 * found[10.0]),),
    )


def _mechanism(norm: str, tau: float, sigma: float) -> ByLabel:
    return Tau(sigma=sigma, tau=tau) if norm == "L2" else L1(sigma=sigma, tau1=tau)
