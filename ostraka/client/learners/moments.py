"""Least squares from one noisy sum, whitened by the pool: the default learner."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ostraka.client.learners.calibration import SLOPE
from ostraka.client.learners.coding import Coding, make_coding
from ostraka.client.learners.count_check import tell_count
from ostraka.client.learners.finishing import Units, finish_model
from ostraka.client.learners.fit import (
    Fit,
    FitReport,
    LearnerName,
    SumPlan,
    ask_numbers,
    block_sigma,
)
from ostraka.client.learners.held_out import gather, own_folds
from ostraka.client.learners.maps import make_map
from ostraka.client.learners.penalty import (
    FOLDS,
    choose_penalty,
    choose_penalty_by_pool,
    pool_covariance,
)
from ostraka.client.learners.plan_notes import tell_map, warn
from ostraka.client.learners.pool_check import ALARM, pool_probability
from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.client.learners.regression import (
    Moments,
    NoisyGram,
    blend_with_pool,
    floor_spectrum,
    join,
    own_moments,
    read_gram,
    read_moments,
    ridge,
)
from ostraka.client.sums.source import NoisySum, SumSource
from ostraka.common.estimators.sum_models import LinearScores
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import MomentsQuestion
from ostraka.common.sums.sensitivity import MOVED_CODES, MOVED_GRAM

GRAM_SHARE = 0.15
"""Share of mu^2 for the Gram sum if the pool provides most of it."""
LONE_GRAM_SHARE = 0.3
"""Share of mu^2 for the Gram sum if there is no pool, or if mu is large enough for both."""
ENOUGH = 20_000
"""Records times mu from which noise on the codes hardly matters, but noise on the Gram sum does."""


@dataclass(frozen=True)
class MomentsLearner:
    """Asks once, for the sums of x c' and of x x'."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the plan, see `Learner.plan`."""
        return plan_moments(problem, mu, "moments")

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Return the model, see `Learner.fit`."""
        return fit_moments(problem, plan, source)


def plan_moments(
    problem: Problem,
    mu: float,
    learner: LearnerName,
    cuts: tuple[Floats, ...] = (),
    told: tuple[str, ...] = (),
) -> SumPlan:
    """Return the plan of a sum of moments with these cuts; `told` says what the cuts reveal."""
    feature_map = make_map(problem, cuts)
    d = feature_map.columns
    coding = make_coding(problem)
    outputs = coding.codes.width
    share = GRAM_SHARE if _has_folds(problem) and problem.records * mu < ENOUGH else LONE_GRAM_SHARE
    return SumPlan(
        learner,
        1,
        d,
        outputs,
        block_sigma(MOVED_CODES, d * outputs, mu * math.sqrt(1 - share)),
        block_sigma(MOVED_GRAM, d * (d + 1) // 2, mu * math.sqrt(share)),
        tells=(*told, *tell_map(problem), *coding.tells),
        warnings=tuple(warn(problem, feature_map)),
    )


def _has_folds(problem: Problem) -> bool:
    return problem.pool is not None and len(problem.pool) >= FOLDS


@dataclass(frozen=True)
class _Regression:
    """The regression's matrix and penalty, and whether own records' moments are included."""

    matrix: Floats = field(repr=False)
    penalty: float
    pool_gram: bool
    pool_check: float | None
    joins: bool
    notes: tuple[str, ...]


def fit_moments(problem: Problem, plan: SumPlan, source: SumSource, cuts: tuple[Floats, ...] = ()) -> Fit:
    """Ask for the moments of a map with these cuts, and return the model."""
    feature_map = make_map(problem, cuts)
    coding = make_coding(problem)
    noisy = ask_numbers(source, MomentsQuestion(feature_map, coding.codes, gram=True))
    bought = read_moments(noisy, coding.second_moment, feature_map.columns)
    gram = read_gram(noisy, feature_map.columns)
    regression = _regress(problem, feature_map, coding, noisy, bought, gram)

    def weights_with(own: OwnRecords | None) -> Floats:
        moments = bought
        if regression.joins and own is not None and len(own):
            moments = join(bought, own_moments(own, feature_map, coding), regression.matrix)
        return ridge(regression.matrix, moments.values, regression.penalty)

    scores = LinearScores.of(feature_map, weights_with(problem.labelled))
    held_out = _score_held_out(problem.labelled, feature_map, weights_with)
    finished = finish_model(problem, scores, Units(coding.scale, coding.shift, SLOPE), held_out)
    report = FitReport(
        plan.learner,
        noisy.records,
        noisy.parties,
        rounds=1,
        rounds_planned=1,
        pool_gram=regression.pool_gram,
        pool_check=regression.pool_check,
        penalty=regression.penalty,
        calibrated_on=finished.calibrated_on,
        half_width=finished.half_width,
        notes=(
            *regression.notes,
            *tell_count(gram, feature_map.constant, noisy.records),
            *finished.notes,
        ),
    )
    return Fit(finished.model, report)


def _regress(
    problem: Problem,
    feature_map: FeatureMap,
    coding: Coding,
    noisy: NoisySum,
    bought: Moments,
    gram: NoisyGram,
) -> _Regression:
    if problem.pool is None or not _has_folds(problem):
        matrix = floor_spectrum(gram)
        note = "There is no pool, so the budget also pays for the covariances of features."
        return _Regression(matrix, choose_penalty(bought, matrix), False, None, True, (note,))
    U = feature_map(problem.pool)
    check = pool_probability(U, gram.values, gram.deviation, noisy.records)
    if check < ALARM:
        matrix = floor_spectrum(gram)
        return _Regression(matrix, choose_penalty(bought, matrix), False, check, False, (_alarm(check),))
    pool = pool_covariance(U)
    own = problem.labelled
    moments = bought if own is None else join(bought, own_moments(own, feature_map, coding), pool.whole)

    def blend(covariance: Floats) -> Floats:
        return blend_with_pool(gram, covariance, pool.records)

    penalty = choose_penalty_by_pool(moments, pool, blend, rare=coding.rare)
    return _Regression(blend(pool.whole), penalty, True, check, True, ())


def _alarm(check: float) -> str:
    return (
        "Your pool differs from the parties' records (such a difference has probability "
        f"{check:.1g} by chance): the pool and your labelled records were used only for "
        "the map; expect lower accuracy on records like your own than on the parties'."
    )


def _score_held_out(
    own: OwnRecords | None, feature_map: FeatureMap, weights_with: Callable[[OwnRecords | None], Floats]
) -> Floats | None:
    """Return scores (n, k) of own records, each by a model that did not use it; None without own records."""
    if own is None:
        return None
    parts = [feature_map(fold.held_out.X) @ weights_with(fold.rest) for fold in own_folds(own)]
    return gather(own, parts)
