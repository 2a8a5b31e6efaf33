"""Random records and questions of every kind, including some that only an adversary would send."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ostraka.common.mechanism import Bins, Boost, Gradients, Moments, RecordSums, Statistics
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import FeatureMap, Floats
from ostraka.common.sums.questions import (
    LABEL,
    AdditiveModel,
    AdditiveTerm,
    BoostQuestion,
    ColumnStatistic,
    Condition,
    GradientQuestion,
    LinearQuestion,
    MomentsQuestion,
    Rows,
    StatisticsQuestion,
    Target,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]
"""Draws from a strategy."""
FEATURES = 3
CLASSES = 3
ODD = (0.0, -0.0, 1.0, -3.5, 1e38, -1e38, 1e-45, float("inf"), float("-inf"), float("nan"))
"""Values of records."""
HUGE = (0.0, 1.0, -1.0, 1e-320, 3e-162, 1e-160, -1e-100, 7.5, 1e100, 1e154, -1e300, 1.7e308)
"""Numbers in questions: finite, like all numbers that are read."""
ABOVE_ZERO = tuple(value for value in HUGE if value > 0)


def records(draw: Draw, count: int, kind: str) -> Rows:
    """Draw records with labels of a kind: "classes", "labels" or "numbers"."""
    values = st.one_of(st.sampled_from(ODD), st.floats(-5, 5, width=32))
    X = np.array(draw(st.lists(values, min_size=count * FEATURES, max_size=count * FEATURES)), np.float32)
    X = X.reshape(count, FEATURES)
    if kind == "numbers":
        y = np.array(draw(st.lists(st.one_of(values, st.sampled_from(HUGE)), min_size=count, max_size=count)))
        return Rows(X, X, y)
    shape = (count, CLASSES) if kind == "labels" else (count,)
    most = 1 if kind == "labels" else CLASSES - 1
    drawn = draw(st.lists(st.integers(0, most), min_size=int(np.prod(shape)), max_size=int(np.prod(shape))))
    return Rows(X, X, np.array(drawn, np.int64).reshape(shape))


def floats(draw: Draw, *shape: int) -> Floats:
    """Draw numbers of a question."""
    size = int(np.prod(shape))
    values = st.one_of(st.sampled_from(HUGE), st.floats(-4, 4))
    return np.array(draw(st.lists(values, min_size=size, max_size=size)), np.float64).reshape(shape)


def feature_map(draw: Draw, *, bins: bool) -> FeatureMap:
    """Draw a map, with cuts or without."""
    constant = draw(st.sampled_from([0.0, 0.3, 0.999, 1e-162, 1e-320]))
    scale = draw(st.sampled_from(ABOVE_ZERO))
    if not bins:
        return FeatureMap(floats(draw, FEATURES), scale, constant)
    cuts = tuple(np.array([-1.0, 2.0])[: draw(st.integers(0, 2))] for _ in range(FEATURES))
    return FeatureMap(floats(draw, sum(len(one) + 1 for one in cuts)), scale, constant, cuts)


def target(draw: Draw, kind: str) -> Target:
    """Draw a target for labels of a kind."""
    if kind == "numbers":
        return Target("squared", 1, float(floats(draw, 1)[0]), draw(st.sampled_from(ABOVE_ZERO)))
    return Target("softmax" if kind == "classes" else "logistic", CLASSES)


def moments(draw: Draw, kind: str) -> tuple[LinearQuestion, RecordSums]:
    """Draw a question about moments or bins, and its mechanism."""
    codes: Codes = ClassCodes(floats(draw, CLASSES, 2))
    if kind == "labels":
        codes = LabelCodes(floats(draw, CLASSES), draw(st.sampled_from(ABOVE_ZERO)))
    elif kind == "numbers":
        codes = NumberCodes(float(floats(draw, 1)[0]), draw(st.sampled_from(ABOVE_ZERO)))
    bins, gram = draw(st.booleans()), draw(st.booleans())
    question = MomentsQuestion(feature_map(draw, bins=bins), codes, gram)
    mechanism = Bins if bins else Moments
    return question, mechanism(
        columns=question.map.columns, codes=codes.width, sigma=2.0, gram_sigma=3.0 if gram else None
    )


def gradient(draw: Draw, kind: str) -> tuple[LinearQuestion, RecordSums]:
    """Draw a question about gradients, and its mechanism."""
    map = feature_map(draw, bins=draw(st.booleans()))
    goal = target(draw, kind)
    weights = floats(draw, map.columns, goal.outputs)
    question = GradientQuestion(map, goal, weights, draw(st.sampled_from(ABOVE_ZERO)))
    return question, Gradients(parameters=weights.size, sigma=2.0)


def boost(draw: Draw, kind: str) -> tuple[LinearQuestion, RecordSums]:
    """Draw a question about residuals in bins, and its mechanism."""
    goal = target(draw, kind)
    indicators = draw(st.sampled_from([0, 2]))
    cuts = np.array([-1.0, 2.0]) if not indicators else np.empty(0)
    model = AdditiveModel(
        floats(draw, goal.outputs), (AdditiveTerm(0, np.array([0.0]), floats(draw, 2, goal.outputs)),)
    )
    question = BoostQuestion(model, goal, 1, cuts, 4, draw(st.sampled_from(ABOVE_ZERO)), indicators)
    return question, Boost(bins=4, outputs=goal.outputs, sigma=2.0)


def statistics(draw: Draw, kind: str) -> tuple[LinearQuestion, RecordSums]:
    """Draw a question about counts, and its mechanism; its ranges may be extremely wide or narrow."""
    ranges = st.sampled_from([(-5.0, 5.0), (-1.7e308, 1.7e308), (0.0, 5e-324), (1e38, 1e39)])
    columns = [0, 1] + ([LABEL] if kind != "labels" else [])
    drawn = [(column, draw(ranges), draw(st.integers(1, 3))) for column in columns]
    asked = tuple(ColumnStatistic(column, low, high, bins) for column, (low, high), bins in drawn)
    ends = st.sampled_from([0.0, float("nan"), float("inf"), -1.0])
    conditions = (Condition(2, draw(ends), draw(ends)),) if draw(st.booleans()) else ()
    question = StatisticsQuestion(asked, conditions)
    return question, Statistics(cells=sum(question.widths), columns=len(asked), sigma=2.0)


KINDS: dict[str, Callable[[Draw, str], tuple[LinearQuestion, RecordSums]]] = {
    "moments": moments,
    "gradients": gradient,
    "boost": boost,
    "statistics": statistics,
}
