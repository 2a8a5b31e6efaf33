"""Cyclic boosting of histograms: an additive model from sums of residuals (Nori et al. 2021)."""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.bins import TOLD_CUTS, make_cuts
from ostraka.client.learners.finishing import finish_model, units_of
from ostraka.client.learners.fit import Fit, FitReport, SumPlan, block_sigma
from ostraka.client.learners.maps import all_the_same
from ostraka.client.learners.plan_notes import tell_models, warn
from ostraka.client.learners.problem import Problem
from ostraka.client.learners.rounds import Rounds
from ostraka.client.learners.starting import start_scores, target_of, tell_start
from ostraka.client.sums.source import NoisySum, SumSource
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.sum_models import AdditiveScores
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import (
    AdditiveModel,
    AdditiveTerm,
    BoostQuestion,
    Target,
    find_places,
    sigmoid,
    softmax,
)
from ostraka.common.sums.sensitivity import MOVED_HISTOGRAM

EPOCHS = 3
"""How often each feature is asked about: once does not separate correlated features, more often adds
noise."""
RADIUS = 0.5
"""Clipping radius of a residual: half of a completely wrong record's, for half the noise."""
EVEN_SHARE = 0.02
"""Raises each bin's curvature by this fraction of an average bin's records, so an almost empty bin does not
jump."""
NOISE_WEIGHT = 2.0
"""Raises the curvature by this many standard deviations of the noise too, so noise alone changes no score
much."""
HALF_CUT = np.array([0.5])
"""The cut of a truth value."""


@dataclass(frozen=True)
class BoostLearner:
    """Asks about each feature, or category, in turn, `EPOCHS` times."""

    def plan(self, problem: Problem, mu: float) -> SumPlan:
        """Return the plan, see `Learner.plan`; raise `data.too_few` without own records to count in bins."""
        _own_features(problem)
        terms = empty_terms(problem)
        if not terms:
            raise all_the_same()
        rounds = EPOCHS * len(terms)
        bins = max(len(term.values) for term in terms)
        sigma = block_sigma(MOVED_HISTOGRAM, bins * problem.scores, mu / math.sqrt(rounds))
        cuts = () if problem.told_pool is None else (TOLD_CUTS,)
        told = (*cuts, *tell_start(problem), *tell_models(problem))
        return SumPlan(
            "boost", rounds, bins, problem.scores, sigma, tells=told, warnings=tuple(warn(problem))
        )

    def fit(self, problem: Problem, plan: SumPlan, source: SumSource) -> Fit:
        """Return the model, see `Learner.fit` and `plan`. If the source stops early, the model so far."""
        counted = _own_features(problem)
        target = target_of(problem)
        model = AdditiveModel(start_scores(problem), empty_terms(problem))
        rounds = Rounds(source)
        for turn in range(plan.rounds):
            place = turn % len(model.terms)
            term = model.terms[place]
            question = BoostQuestion(
                model, target, term.feature, term.cuts, plan.columns, RADIUS, term.indicators
            )
            noisy = rounds.ask(question)
            if noisy is None:
                break
            change = _step(noisy, model, term, target, counted)
            changed = replace(term, values=term.values + change)
            model = replace(model, terms=(*model.terms[:place], changed, *model.terms[place + 1 :]))
        own = problem.labelled
        # From their labels, the model only has the class shares at its start, or mean and deviation.
        held_out = None if own is None else model.scores(own.X)
        scores = AdditiveScores.of(model)
        finished = finish_model(problem, scores, units_of(problem, target), held_out)
        report = FitReport(
            "boost",
            rounds.records,
            rounds.parties,
            rounds=rounds.answered,
            rounds_planned=plan.rounds,
            calibrated_on=finished.calibrated_on,
            half_width=finished.half_width,
            notes=(*rounds.notes(plan.rounds), *finished.notes),
        )
        return Fit(finished.model, report)


def empty_terms(problem: Problem) -> tuple[AdditiveTerm, ...]:
    """Return a zero term for each category and for each other feature that varies.

    Cuts are from `make_cuts`; a feature that is constant in the pool is left out.
    """
    k = problem.scores
    none = np.empty(0)
    terms = [
        AdditiveTerm(category.first, none, np.zeros((category.width + 1, k)), category.width)
        for category in problem.categories
    ]
    members = {place for one in problem.categories for place in range(one.first, one.first + one.width)}
    for feature, found in enumerate(make_cuts(problem)):
        if feature in members or _is_constant(problem, feature):
            continue
        cuts = found if len(found) else HALF_CUT
        terms.append(AdditiveTerm(feature, cuts, np.zeros((len(cuts) + 1, k))))
    return tuple(terms)


def _is_constant(problem: Problem, feature: int) -> bool:
    pool = problem.told_pool
    return pool is not None and bool(np.ptp(pool[:, feature]) == 0)


def _own_features(problem: Problem) -> NDArray[np.floating]:
    """Return the records that are counted in bins."""
    if problem.told_features is not None:
        return problem.told_features
    raise OstrakaError(
        ErrorCode.DATA_TOO_FEW,
        "Boosting counts your own records in bins, but there are none: give labelled records, or a pool "
        "that parties may be told of, or use moments.",
    )


def _step(
    noisy: NoisySum, model: AdditiveModel, term: AdditiveTerm, target: Target, counted: NDArray[np.floating]
) -> Floats:
    """Return the Newton step of a term's values in each bin, with the curvature of the counted records."""
    bins, k = term.values.shape
    slopes = RADIUS * noisy.blocks[0].reshape(-1, k)[:bins]
    curvatures = np.zeros((bins, k))
    places = find_places(counted, term.feature, term.cuts, term.indicators)
    np.add.at(curvatures, places, _curvature(model.scores(counted), target))
    curvatures *= noisy.records / len(counted)
    steady = EVEN_SHARE * noisy.records / bins + NOISE_WEIGHT * RADIUS * noisy.sigmas[0]
    change: Floats = -slopes / (curvatures + steady)
    return change


def _curvature(scores: Floats, target: Target) -> Floats:
    """Return the second derivative of the loss by each score, (n, k)."""
    if target.loss == "squared":
        return np.ones_like(scores)
    p = softmax(scores) if target.loss == "softmax" else sigmoid(scores)
    return p * (1 - p)
