"""Chooses the plans by public votes on other digits: `python -m benchmarks.students.planning`."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from scipy.stats import norm

from benchmarks.students.other_digits import OPTDIGITS, Expected, load_or_vote
from benchmarks.students.settings import FULL, Plan
from ostraka.common.console.cli import run
from ostraka.common.mechanism import Confident
from ostraka.common.privacy import budget_rdp
from ostraka.guardian.accounting import confident_rdp
from ostraka.guardian.noise import LATTICE

Floats = NDArray[np.float64]
ORDERS = (6.0, 8.0, 10.0, 12.0, 15.0, 18.0, 20.0, 22.0, 25.0)
MECHANISMS = tuple(
    Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold)
    for sigma1, sigma2, threshold in product(
        (90.0, 130.0, 160.0, 200.0, 250.0), (25.0, 32.0, 40.0, 50.0), (180.0, 200.0, 220.0)
    )
)
RECORDS = 500
"""Number of queries that charges are averaged over."""
RIGHT = 0.98
"""Required share of right labels."""
NEARLY = 0.95
"""Fraction of the maximum number of labels that is good enough; of such plans, the most accurate is
chosen."""
_DRAWS = 20  # of noise per query; only their mean over thousands of queries is used

app = typer.Typer(add_completion=False)


@dataclass(frozen=True)
class Forecast:
    """Expected release of a plan from an infinite pool.

    Attributes:
        plan: the plan.
        labels: number of labels.
        right: share of right labels.
    """

    plan: Plan
    labels: float
    right: float


@app.command()
def main(
    cache: Annotated[Path, typer.Option(help="Folder of votes.")] = Path("runs/students"),
) -> None:
    """Print the plan of each budget that releases the most labels of which enough are right."""
    if not OPTDIGITS.exists():
        typer.echo("planning: skipped, ../shared/data lies not beside the checkout")
        return
    votes = _some(load_or_vote(cache))
    found = [forecast for mechanism in MECHANISMS for forecast in forecasts(votes, mechanism)]
    for budget in FULL.plans:
        best = choose([one for one in found if one.plan.epsilon == budget.epsilon])
        typer.echo(f"{best.plan}: {best.labels:.0f} labels, {best.right:.2%} right")


def choose(found: list[Forecast]) -> Forecast:
    """Choose the most accurate of the forecasts with nearly the most labels that are accurate enough."""
    enough = [one for one in found if one.right >= RIGHT]
    most = max(one.labels for one in enough)
    return max((one for one in enough if one.labels >= NEARLY * most), key=lambda one: one.right)


def forecasts(votes: Expected, mechanism: Confident) -> list[Forecast]:
    """Return the mechanism's forecast for every budget, at the best order."""
    counts = votes.votes.astype(np.float64)
    orders = np.array(ORDERS)
    passes = norm.sf((mechanism.threshold - counts.max(axis=1)) / mechanism.sigma1)
    failing, passing = (
        confident_rdp(
            counts,
            mechanism.threshold,
            mechanism.sigma1,
            mechanism.sigma2,
            orders,
            np.full(len(counts), given),
            lattice=LATTICE,
        )
        for given in (False, True)
    )
    mean = (passes[:, None] * passing + (1 - passes[:, None]) * failing).mean(axis=0)
    right = float((passes * _right(votes, mechanism.sigma2)).sum() / passes.sum())
    return [_forecast(mechanism, budget.epsilon, mean, float(passes.mean()), right) for budget in FULL.plans]


def _forecast(mechanism: Confident, epsilon: float, mean: Floats, passing: float, right: float) -> Forecast:
    limits = np.array([budget_rdp(epsilon, FULL.delta, order) for order in ORDERS])
    best = int((limits / mean).argmax())
    return Forecast(Plan(epsilon, ORDERS[best], mechanism), float(limits[best] / mean[best]) * passing, right)


def _right(votes: Expected, sigma: float) -> Floats:
    """Return how often each query's (Q,) noisy label is right."""
    random = np.random.default_rng(0)
    noisy = votes.votes + random.normal(0, sigma, (_DRAWS, *votes.votes.shape))
    share: Floats = (noisy.argmax(axis=2) == votes.y).mean(axis=0)
    return share


def _some(votes: Expected) -> Expected:
    rows = np.random.default_rng(0).choice(len(votes.y), RECORDS, replace=False)
    return Expected(votes.votes[rows], votes.y[rows])


if __name__ == "__main__":
    run(app)
