"""Papernot et al. 2018 on published votes of 250 teachers: SVHN's in place of Glyph's."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import AT, DATA
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome
from benchmarks.reproduce.measures.costs import classic, tight
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp, lnmax_rdp
from ostraka.guardian.accounting.numerics.arguments import Floats

DELTA = 1e-6
"""Delta of SVHN's votes, Figure 5."""
TEACHERS = 250  # of SVHN's published votes
PLAN = (300.0, 200.0, 40.0)
"""Threshold, noise of the check and of the label: SVHN's row of Figure 5."""
ANSWERED = 3464  # of Figure 5
SIGMAS = (5.0, 7.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0, 80.0, 120.0, 160.0, 240.0)
QUERIES = 4000
"""Number of queries in Figure 2."""
DROP = 0.01
"""Accuracy that noise may cost, relative to the plurality, when mechanisms are compared."""
CHECKS = {"moderate": (0.7, 0.3), "aggressive": (1.0, 0.3)}
"""Threshold and noise of Figure 6's checks, relative to the number of teachers."""


@dataclass(frozen=True)
class Drawn:
    """Queries in a random order: histograms (Q, k), and their true classes (Q,)."""

    counts: Floats
    y: NDArray[np.int64]
    random: np.random.Generator

    def accuracy(self, noise: Floats) -> float:
        """Return how often the class with most votes plus noise (Q, k) is right."""
        return float(((self.counts + noise).argmax(axis=1) == self.y).mean())


def svhn(seed: int, queries: int | None = None) -> Drawn:
    """Return the first `queries` of a random order; by default all."""
    random = np.random.default_rng(seed)
    counts = np.load(DATA / "votes" / "svhn_250_teachers_counts.npy").astype(np.float64)
    y = np.load(DATA / "votes" / "svhn_test_labels.npy").astype(np.int64)
    order = random.permutation(len(counts))[:queries]
    return Drawn(counts[order], y[order], random)


def svhn_row(job: Job) -> Outcome:
    """Ask until there are as many labels as in Figure 5, and charge them."""
    wanted = ANSWERED // (10 if job.quick else 1)
    costs = np.array([_svhn_row(seed, wanted) for seed in job.seeds])
    named = (
        ("epsilon, theorem6 and the paper's conversion", None if job.quick else 5.34),
        ("epsilon, theorem6", None),
        ("epsilon, exact", None),
        ("labels that are right, %", None),
    )
    return Outcome(
        tuple(_figure(name, column, paper) for (name, paper), column in zip(named, costs.T, strict=True))
    )


def _svhn_row(seed: int, wanted: int) -> list[float]:
    drawn = svhn(seed)
    threshold, sigma1, sigma2 = PLAN
    counts = drawn.counts
    random = drawn.random
    passed = counts.max(axis=1) + random.normal(0, sigma1, len(counts)) >= threshold
    asked = int(np.flatnonzero(passed.cumsum() == wanted)[0]) + 1
    counts = counts[:asked]
    passed = passed[:asked]
    y = drawn.y[:asked]
    labels = (counts + random.normal(0, sigma2, counts.shape)).argmax(axis=1)
    theorem6, exact = (
        confident_rdp(counts, threshold, sigma1, sigma2, AT, passed, bound=bound).sum(axis=0)
        for bound in ("theorem6", "exact")
    )
    right = float((labels == y)[passed].mean())
    return [classic(theorem6, AT, DELTA), tight(theorem6, AT, DELTA), tight(exact, AT, DELTA), 100 * right]


def laplace_and_gauss(job: Job) -> Outcome:
    """Figure 2: the smallest epsilon at which labels are almost as accurate as the plurality's."""
    found = np.array([_laplace_and_gauss(seed, QUERIES // (10 if job.quick else 1)) for seed in job.seeds])
    names = ("epsilon of GNMax, theorem6", "epsilon of LNMax, theorem6", "of GNMax, exact", "of LNMax, exact")
    gauss, laplace = found.mean(axis=0)[:2]
    return Outcome(
        tuple(_figure(name, column) for name, column in zip(names, found.T, strict=True)),
        (Claim("at the same accuracy GNMax costs less than LNMax", bool(gauss < laplace)),),
    )


def _laplace_and_gauss(seed: int, queries: int) -> list[float]:
    drawn = svhn(seed, queries)
    shape = drawn.counts.shape
    random = drawn.random
    least = drawn.accuracy(np.zeros(shape)) - DROP
    gauss = max(s for s in SIGMAS if drawn.accuracy(random.normal(0, s, shape)) >= least)
    scale = max(s for s in SIGMAS if drawn.accuracy(random.laplace(0, s / 2**0.5, shape)) >= least) / 2**0.5
    costs = []
    for bound in ("theorem6", "exact"):
        costs.append(tight(gnmax_rdp(drawn.counts, gauss, AT, bound=bound).sum(axis=0), AT, DELTA))
        costs.append(tight(lnmax_rdp(drawn.counts, 1 / scale, AT, bound=bound).sum(axis=0), AT, DELTA))
    return costs


def regimes(job: Job) -> Outcome:
    """Figure 3: how the data-dependent bound falls, rises and is overtaken with more noise."""
    drawn = svhn(job.seeds[0], QUERIES // (10 if job.quick else 1))
    by_votes, whatever = (
        [classic(gnmax_rdp(drawn.counts, s, AT, bound=bound).sum(axis=0), AT, DELTA) for s in SIGMAS]
        for bound in ("theorem6", "worst_case")
    )
    accuracy = [drawn.accuracy(drawn.random.normal(0, s, drawn.counts.shape)) for s in SIGMAS]
    found = [i for i in range(1, len(SIGMAS) - 1) if by_votes[i - 1] > by_votes[i] < by_votes[i + 1]]
    shown = [i for i, s in enumerate(SIGMAS) if s in (10.0, 20.0, 40.0, 80.0, 160.0)]
    figures = [
        Figure(f"sigma {SIGMAS[i]:g}: {name}", (value,))
        for i in shown
        for name, value in (
            ("epsilon, theorem6", by_votes[i]),
            ("whatever the votes", whatever[i]),
            ("right, %", 100 * accuracy[i]),
        )
    ]
    return Outcome(
        tuple(figures),
        (
            Claim("with more noise the bound by the votes falls, then rises", bool(found)),
            Claim(
                "with much noise it is the one whatever the votes", bool(by_votes[-1] > 0.98 * whatever[-1])
            ),
        ),
    )


def all_or_confident(job: Job) -> Outcome:
    """Figure 4: cost of the same number of labels with and without a check."""
    wanted = (100, 200) if job.quick else (1000, 2000, 4000)
    costs = np.array([[_all_or_confident(seed, labels) for labels in wanted] for seed in job.seeds])
    figures = [
        _figure(f"{labels:,} labels: epsilon {way}", costs[:, i, j])
        for i, labels in enumerate(wanted)
        for j, way in enumerate(("of all queries", "of Confident"))
    ]
    cheaper = bool((costs[:, :, 1] < costs[:, :, 0]).all())
    return Outcome(
        tuple(figures), (Claim("as many labels cost less where only cheap queries are answered", cheaper),)
    )


def _all_or_confident(seed: int, labels: int) -> list[float]:
    drawn = svhn(seed)
    threshold, sigma1, sigma2 = PLAN
    passed = drawn.counts.max(axis=1) + drawn.random.normal(0, sigma1, len(drawn.counts)) >= threshold
    asked = int(np.flatnonzero(passed.cumsum() == labels)[0]) + 1
    checked = confident_rdp(
        drawn.counts[:asked], threshold, sigma1, sigma2, AT, passed[:asked], bound="theorem6"
    )
    every = gnmax_rdp(drawn.counts[:labels], sigma2, AT, bound="theorem6")
    return [classic(rdp.sum(axis=0), AT, DELTA) for rdp in (every, checked)]


def checks(job: Job) -> Outcome:
    """Figure 6: which queries pass, by how many teachers agree."""
    figures = []
    passing = {}
    for name, (threshold, sigma) in CHECKS.items():
        shares = np.array([_passing(seed, threshold * TEACHERS, sigma * TEACHERS) for seed in job.seeds])
        passing[name] = shares.mean(axis=0)
        for what, column in zip(("above 80%", "50 to 70%", "below 50%"), shares.T, strict=True):
            figures.append(
                _figure(f"{name}: passing where the plurality is {what} of the teachers, %", column)
            )
    moderate = passing["moderate"]
    aggressive = passing["aggressive"]
    return Outcome(
        tuple(figures),
        (
            Claim("the moderate check passes most queries of strong consensus", bool(moderate[0] > 50)),
            Claim("and stops most of poor consensus", bool(moderate[2] < 50)),
            Claim("the aggressive check stops next to all of poor consensus", bool(aggressive[2] < 5)),
            Claim("and loses many of strong consensus", bool(aggressive[0] < moderate[0] - 10)),
        ),
    )


def _passing(seed: int, threshold: float, sigma: float) -> list[float]:
    drawn = svhn(seed)
    most = drawn.counts.max(axis=1)
    passed = most + drawn.random.normal(0, sigma, len(most)) >= threshold
    share = most / TEACHERS
    of = (share > 0.8, (share >= 0.5) & (share < 0.7), share < 0.5)
    return [100 * float(passed[rows].mean()) for rows in of]


def _figure(name: str, values: Sequence[float] | Floats, paper: float | None = None) -> Figure:
    return Figure(
        name, tuple(float(value) for value in values), paper, "lower" if "epsilon" in name else None
    )
