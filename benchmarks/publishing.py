"""Cost of publishing a theorem6 epsilon by smooth sensitivity: `python -m benchmarks.publishing`.

On the published votes of Papernot et al. 2018. Also on a substitute for the 5,000 teachers of its Glyph run,
whose votes were not published: MNIST's histograms twenty times as high, with Glyph's parameters. Also for
LNMax on the same histograms, and for Binary, tau and Powerset on votes of models of yeast's records. Orders
and noise depend only on public values.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.dependencies.asking import DELTA
from benchmarks.dependencies.cells import SETTINGS
from benchmarks.dependencies.votes import votes
from benchmarks.published import DATA, RUNS
from ostraka.common.mechanism import Binary, Confident, LnMax, Mechanism, Powerset, Tau
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, epsilon
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.bounds.smooth_sensitivity import discount
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.mechanisms.charge import vote_total

_KIND = bytes(16)
CACHE = Path("runs/dependencies")
QUERIES = 40  # as many as epsilon 8 pays for on these votes by exact costs (docs/dependencies.md)
TAU = 1.5  # for ballots with a mean of four of yeast's 14 labels
SETS = 5  # labels of Powerset, as many as in the paper's measurement
_COLUMNS = (
    "run",
    "order",
    "worst case",
    "theorem6",
    "published, mean",
    "+- one deviation",
    "charge (rdp)",
    "Papernot et al.'s noise",
)


@dataclass(frozen=True)
class Run:
    """A run: sums (Q, width) of queries and which answers were given (Q, m), number of teachers, delta."""

    name: str
    mechanism: Mechanism
    votes: Floats
    answered: NDArray[np.bool_]
    teachers: int
    delta: float

    @property
    def classes(self) -> int:
        """Number of classes, or of labels if every label is answered."""
        answers = self.answered.shape[1]
        width: int = self.votes.shape[1]
        return answers if self.mechanism.multi_label else width


@dataclass(frozen=True)
class Published:
    """Epsilons of a run at an order chosen by its worst case, and charges in rdp.

    Attributes:
        order: the order.
        worst: worst-case cost.
        theorem6: cost for its votes, not to be published.
        mean: mean of the published value, including the charge.
        deviation: the noise's deviation.
        charge: cost of publishing.
        paper: cost with the paper's noise, whose width depends on the votes and so reveals them.
        paper_deviation: the deviation of that noise.
    """

    order: float
    worst: float
    theorem6: float
    mean: float
    deviation: float
    charge: float
    paper: float
    paper_deviation: float


def main() -> None:
    """Print a row for each run, or that the published votes are missing."""
    if not (DATA / "golden_pate.json").exists():
        print("publishing of published runs: skipped, ../shared/data lies not beside the checkout")
        return
    table = Table(*_COLUMNS)
    for run in runs():
        found = publish(run)
        figures = (found.worst, found.theorem6, found.mean, found.deviation, found.charge)
        paper = f"{found.paper:.3f} +- {found.paper_deviation:.3f}"
        table.add_row(run.name, f"{found.order:g}", *(f"{figure:.3f}" for figure in figures), paper)
    Console(width=150).print(table)


def runs() -> list[Run]:
    """Return the published runs, the substitute for Glyph's, and those of the other mechanisms."""
    stored = json.loads((DATA / "golden_pate.json").read_text())["whole_runs"]
    published = [_load_run(name, stored[index]) for name, index in RUNS.items()]
    return [*published, _stand_in(stored[0]), _laplace(stored[0]), *_of_labels()]


def publish(run: Run) -> Published:
    """Return the cost of publishing a run's total, at the order with the least worst case."""
    order = min((order for order in ORDERS if order <= 64), key=lambda order: _worst(run, order))
    noise = SmoothNoise.by_order(order)
    kept = vote_total(_tally(run), order, 1.0, 1.0, _KIND)
    spent = kept.spent * AMOUNT_UNIT
    charge = noise.cost(order) * AMOUNT_UNIT
    return Published(
        order=order,
        worst=_worst(run, order),
        theorem6=epsilon(spent, order, run.delta),
        mean=epsilon(spent + charge, order, run.delta),
        deviation=noise.sigma * discount(kept.changes, noise.beta) * AMOUNT_UNIT,
        charge=charge,
        **_by_the_paper(kept.changes, order),
    )


def _by_the_paper(changes: Sequence[int], order: float) -> dict[str, float]:
    """Return the cost of the paper's noise: Theorem 23 of the published version, parameters of its code."""
    beta = 0.49 / order
    smooth = discount(changes, beta) * AMOUNT_UNIT
    sigma = (order * math.exp(2 * beta) / smooth) ** (1 / 3)
    close = (beta * order - math.log(1 - 2 * order * beta) / 2) / (order - 1)
    return {"paper": order * math.exp(2 * beta) / sigma**2 + close, "paper_deviation": smooth * sigma}


def _worst(run: Run, order: float) -> float:
    cost = run.mechanism.worst_case(order, classes=run.classes)
    return epsilon(cost.rdp(run.answered), order, run.delta)


def _tally(run: Run) -> Tally:
    return Tally(
        mechanism=run.mechanism,
        classes=run.classes,
        total=np.full(len(run.votes), float(run.teachers)),
        voters=run.teachers,
        votes=run.votes,
        answered=run.answered,
    )


def _load_run(name: str, stored: dict[str, Any]) -> Run:
    votes = np.load(DATA / stored["votes_file"])[: stored["n_queries"]].astype(np.float64)
    answered = np.zeros(len(votes), dtype=np.bool_)
    answered[stored["answered"]] = True
    mechanism = Confident(sigma1=stored["sigma1"], sigma2=stored["sigma2"], threshold=stored["T"])
    label = f"{name}: 250 teachers, {len(votes):,} asked, {answered.sum():,} answered"
    return Run(label, mechanism, votes, answered[:, None], 250, stored["delta"])


def _stand_in(stored: dict[str, Any]) -> Run:
    votes = 20 * np.load(DATA / stored["votes_file"]).astype(np.float64)
    mechanism = Confident(sigma1=1500.0, sigma2=100.0, threshold=3500.0)
    drawn = votes.max(axis=1) + np.random.default_rng(0).normal(0, mechanism.sigma1, len(votes))
    answered = drawn >= mechanism.threshold
    label = f"stand-in: 5,000 teachers, {len(votes):,} asked, {answered.sum():,} answered"
    return Run(label, mechanism, votes, answered[:, None], 5000, 1e-8)


def _laplace(stored: dict[str, Any]) -> Run:
    """Return the baseline of Papernot et al. 2018 on the same histograms: scale 20, every query answered."""
    votes = np.load(DATA / stored["votes_file"])[: stored["n_queries"]].astype(np.float64)
    answered = np.ones((len(votes), 1), dtype=np.bool_)
    label = f"LNMax, MNIST: 250 teachers, {len(votes):,} answered"
    return Run(label, LnMax(gamma=0.05), votes, answered, 250, stored["delta"])


def _of_labels() -> list[Run]:
    """Return runs of each multi-label mechanism, on votes that `python -m benchmarks.dependencies` caches."""
    setting = SETTINGS[0]
    if not setting.shared.there:
        return []
    found = votes(setting.shared, setting.teachers, setting.pool, seed=0, cache=CACHE)
    ballots = found.yes[:, :QUERIES].astype(np.int64)
    labels = ballots.shape[2]
    sets = ballots[:, :, :SETS] @ (1 << np.arange(SETS))
    counts = np.stack([np.bincount(each, minlength=1 << SETS) for each in sets.T])
    clipped = Tau(sigma=setting.sigma, tau=TAU)
    made: list[tuple[Mechanism, NDArray[Any], int]] = [
        (Binary(sigma=setting.sigma), ballots.sum(axis=0), labels),
        (Binary(sigma=setting.sigma / 2), ballots.sum(axis=0), labels),
        (clipped, clipped.ballot.count(ballots, labels), labels),
        (Powerset(sigma=setting.sigma / 2), counts, SETS),
    ]
    return [
        Run(
            f"{mechanism.kind}, yeast: {len(ballots)} teachers, {answers} labels",
            mechanism,
            sums.astype(np.float64),
            np.ones((QUERIES, answers), dtype=np.bool_),
            len(ballots),
            DELTA,
        )
        for mechanism, sums, answers in made
    ]


if __name__ == "__main__":
    main()
