"""Votes of teachers: trained on slices of each site, counted on the pool, and bought by a searched plan."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.learning.accuracy import POSITIVE
from ostraka.common.mechanism import Binary, GnMax, Mechanism, Threshold
from ostraka.common.mechanism.arguments import mechanism_text
from ostraka.common.mechanism.confident import CheckedArgmax
from ostraka.common.planning.search.allowance import Choice, NewBudget
from ostraka.common.planning.search.families import families
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.search import Outcome, Search, best_of_each, worst_rates
from ostraka.common.planning.search.search_options import KEPT
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.privacy.guarantees import DELTA
from ostraka.deploy.advice.attempts import Attempt, Clock, measure_model
from ostraka.deploy.advice.models import fit_linear, say_most_frequent
from ostraka.deploy.advice.splits import Split
from ostraka.services.teachers.assignment import Slice, slices
from ostraka.services.teachers.estimators import fit_estimators
from ostraka.services.teachers.guard import VoteGuard

SLICES = (25, 60, 150)
"""Records per teacher to try: fewer make no useful teacher, and more leave few votes to hide in."""
MIN_TEACHERS = 10
"""Least number of teachers of all sites: fewer pay for no label at any epsilon that protects somebody."""
MAX_TRAINED = 250
"""Largest number of teachers that are trained; each represents several voters."""
MAX_DRAWN = 50
"""Largest number of trained teachers of those that a federation declares, on draws that overlap."""
DECLARED = "declared teachers"
SEARCHED = 300
"""Number of queries on which a plan is searched: they determine a fraction of right labels within three
points.
"""
MODEL = "logistic_regression"
"""The default model of teachers."""


@dataclass(frozen=True)
class Electorate:
    """Teachers of all sites, and their votes on the pool.

    Attributes:
        teachers: number of teachers of all sites.
        most: largest number of teachers of one site.
        counts: votes for each class, or yeses for each label, float64 (pool, k).
        truth: of the pool.
        seconds: processor time of their training.
    """

    teachers: int
    most: int
    counts: NDArray[np.float64] = field(repr=False)
    truth: NDArray[Any] = field(repr=False)
    seconds: float

    def sample(self) -> VoteSample:
        """Return some of the votes, for a search."""
        truth = self.truth if self.truth.ndim == 1 else self.truth.astype(np.bool_)
        return VoteSample(self.counts, self.teachers, truth).thin(SEARCHED)


def count_teachers(split: Split, records: int) -> tuple[int, ...]:
    """Return each site's number of teachers with this many records; at least one if it has any records."""
    weight = split.amounts.weight
    return tuple(max(1, int(len(rows) * weight) // records) if len(rows) else 0 for rows in split.sites)


def elect(split: Split, records: int, most: int = MAX_TRAINED) -> Electorate | None:
    """Return teachers with this many records each, at most `most` of them trained, and their votes.

    None if there are too few.
    """
    counted = count_teachers(split, records)
    total = sum(counted)
    if total < MIN_TEACHERS:
        return None
    clock = Clock()
    share = min(1.0, most / total)
    parts: list[Slice] = []
    stands_for: list[float] = []
    for site, (rows, teachers) in enumerate(zip(split.sites, counted, strict=True)):
        if not teachers:
            continue
        trained = min(max(1, round(share * teachers)), max(1, len(rows) // records))
        for number, part in enumerate(slices(len(rows), trained, split.seed)):
            X, y = split.take(rows[part][: max(records, 1)] if trained < teachers else rows[part])
            parts.append(Slice(X, y, (split.seed, site, number)))
            stands_for.append(teachers / trained)
    counts = _count_votes(split, parts, stands_for)
    return Electorate(total, max(counted), counts, split.take(split.pool)[1], clock.seconds())


def elect_declared(split: Split) -> Electorate | None:
    """Return the teachers that sites declare; None if there are too few.

    Each trained teacher learns from a draw of at most half of the shown records, so that teachers differ, and
    represents several: no table of one site contains all sites' records.
    """
    declared = split.teachers or ()
    total = sum(declared)
    if total < MIN_TEACHERS:
        return None
    clock = Clock()
    rows = split.private
    taken = max(1, min(split.amounts.private // total, len(rows) // 2))
    trained = min(total, MAX_DRAWN)
    parts = []
    for number in range(trained):
        drawn = np.random.default_rng([split.seed, number]).choice(rows, taken, replace=False)
        parts.append(Slice(*split.take(drawn), (split.seed, 0, number)))
    counts = _count_votes(split, parts, [total / trained] * trained)
    return Electorate(total, max(declared), counts, split.take(split.pool)[1], clock.seconds())


def _count_votes(split: Split, parts: Sequence[Slice], stands_for: Sequence[float]) -> NDArray[np.float64]:
    """Return the votes on the pool of one teacher per part, each representing several."""
    task = split.records.task
    X_pool, _ = split.take(split.pool)
    guard = VoteGuard(task.outputs, multi_label=task.multi_label)
    fitted = fit_estimators(parts, MODEL, task.outputs, lambda done, total: None)
    votes = fitted.predict(X_pool, guard)
    ballots = votes >= POSITIVE if task.multi_label else votes[..., None] == np.arange(task.outputs)
    counts: NDArray[np.float64] = np.einsum("t,tqk->qk", np.asarray(stands_for), ballots)
    return counts


def search_plan(electorate: Electorate, queries: int, choices: Sequence[Choice]) -> Outcome | None:
    """Return the mechanism that buys the most right labels for the queries; None if none buys any."""
    sample = electorate.sample()
    forecaster = Forecaster(sample)
    search = Search(forecaster, queries, KEPT * forecaster.noiseless(), worst_rates(sample.classes))
    found = [one for _, one in best_of_each(search, families(sample), choices, {}) if search.good(one)]
    best = max(found, key=search.rank, default=None)
    return best if best is not None and int(best.asked) else None


def release(
    mechanism: Mechanism, electorate: Electorate, random: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which queries are answered (pool,), and all answers, with NumPy's noise."""
    counts = electorate.counts
    answered = np.ones(len(counts), np.bool_)
    match mechanism:
        case GnMax():
            noisy = counts + random.normal(0, mechanism.sigma, counts.shape)
            return answered, noisy.argmax(axis=1)
        case Threshold():
            noisy = counts + random.normal(0, mechanism.sigma, counts.shape)
            lead = (2 * mechanism.share - 1) * electorate.teachers
            return answered, (noisy[:, 1] - noisy[:, 0] >= lead).astype(np.int64)
        case CheckedArgmax():
            checked = counts.max(axis=1) + random.normal(0, mechanism.sigma1, len(counts))
            noisy = counts + random.normal(0, mechanism.sigma2, counts.shape)
            return checked >= mechanism.threshold, noisy.argmax(axis=1)
        case Binary():
            return _release_labels(mechanism, electorate, random)
    raise ValueError(f"mechanism {mechanism.kind} is not searched")


def _release_labels(
    mechanism: Binary, electorate: Electorate, random: np.random.Generator
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return answers for all labels; a label whose check fails counts as unanswered, and as a no."""
    yeses = electorate.counts
    noise = random.normal(0, mechanism.sigma, (2, *yeses.shape))
    said = yeses + noise[0] > electorate.teachers - yeses + noise[1]
    if mechanism.check is None:
        return np.ones(len(yeses), np.bool_), said.astype(np.int64)
    surest = np.maximum(yeses, electorate.teachers - yeses)
    passed = surest + random.normal(0, mechanism.check.sigma, yeses.shape) >= mechanism.check.threshold
    return np.all(np.asarray(passed), axis=1), said.astype(np.int64)


def new_budget(epsilon: float) -> Sequence[Choice]:
    """Return what a budget that is still to be set allows, for one replaced record."""
    return NewBudget(epsilon, DELTA).choices(1.0)


class VotePlans:
    """Plans by teachers and epsilon: searched on the first split, and used on all."""

    def __init__(self, choices: Callable[[float], Sequence[Choice]] = new_budget) -> None:
        """Begin with no plan; `choices` returns what an epsilon allows."""
        self._choices = choices
        self._found: dict[tuple[int, float], Outcome | None] = {}

    def plan(self, records: int, electorate: Electorate, epsilon: float, queries: int) -> Outcome | None:
        """Return the plan for teachers with `records` records and this many queries."""
        key = (records, epsilon)
        if key not in self._found:
            self._found[key] = search_plan(electorate, queries, self._choices(epsilon))
        return self._found[key]


def try_votes(
    split: Split, epsilons: tuple[float, ...], plans: VotePlans, most: int = MAX_TRAINED
) -> Iterator[Attempt]:
    """Yield a student for each number of teachers and epsilon; nothing if the label is a number."""
    if split.records.kind == "number":
        return
    queries = split.amounts.queries or len(split.pool)
    if split.teachers is not None:
        electorate = elect_declared(split)
        if electorate is None:
            return
        records = split.amounts.private // electorate.teachers
        for epsilon in epsilons:
            plan = plans.plan(0, electorate, epsilon, queries)
            yield _try_plan(split, DECLARED, records, electorate, epsilon, plan)
        return
    seen = set()
    for records in SLICES:
        counted = count_teachers(split, records)
        if counted in seen:
            continue
        seen.add(counted)
        electorate = elect(split, records, most)
        if electorate is None:
            continue
        for epsilon in epsilons:
            plan = plans.plan(records, electorate, epsilon, queries)
            variant = f"about {records} records a teacher"
            yield _try_plan(split, variant, records, electorate, epsilon, plan)


def _try_plan(
    split: Split,
    variant: str,
    records: int,
    electorate: Electorate,
    epsilon: float,
    plan: Outcome | None,
) -> Attempt:
    clock = Clock()
    kind = split.records.kind
    outputs = split.records.task.outputs
    random = np.random.default_rng([split.seed, electorate.teachers, round(1e6 * epsilon)])
    own_X, own_y = split.take(split.own)
    bought = np.zeros(0, np.int64)
    answers = electorate.truth[:0]
    if plan is not None:
        answered, said = release(plan.mechanism, electorate, random)
        bought = np.flatnonzero(answered[: int(plan.asked)])
        answers = said[bought]
    X = np.concatenate([own_X, split.records.X[split.pool[bought]]])
    y = np.concatenate([own_y, answers])
    predict = fit_linear(kind, outputs, X, y) if len(X) else say_most_frequent(split)
    settings: dict[str, Any] = {
        "teachers": electorate.most,
        "total": electorate.teachers,
        "records": records,
        "learned": len(bought),
    }
    if plan is not None:
        settings["mechanism"] = mechanism_text(plan.mechanism)
        settings["order"] = plan.order
    return Attempt(
        "votes",
        variant,
        epsilon,
        measure_model(split, predict),
        _labels_paid(len(bought), len(electorate.counts), plan),
        clock.seconds() + electorate.seconds,
        settings,
    )


def _labels_paid(learned: int, pool: int, plan: Outcome | None) -> int:
    """Return the number of returned labels if more queries may be asked than the pool has here."""
    if plan is None:
        return 0
    asked = min(pool, int(plan.asked))
    return round(learned * plan.asked / asked) if asked else 0
