"""Which questions a party answers: those that its plan pays for, about what its task has."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Boost, GnMax, Gradients, Mechanism, Moments, Statistics
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import UNBINNED, FeatureMap
from ostraka.common.sums.questions import (
    LABEL,
    LOSS,
    AdditiveModel,
    AdditiveTerm,
    AnyQuestion,
    BoostQuestion,
    ColumnStatistic,
    Condition,
    GradientQuestion,
    MomentsQuestion,
    NetworkQuestion,
    StatisticsQuestion,
    Target,
)
from ostraka.services.hosting.records import Records
from ostraka.services.sums.question_checks import check_question

FEATURES = 3
SIGMA = 2.0
NOBODY = np.zeros(4, np.int64)


def holding(y: NDArray[np.int64] | NDArray[np.float64], outputs: int) -> Records:
    X = np.zeros((len(y), FEATURES), np.float32)
    return Records(X, y, NOBODY, outputs, NOBODY, codes=X, features=X)


TWO_CLASSES = holding(NOBODY, 2)
THREE_CLASSES = holding(NOBODY, 3)
TWO_LABELS = holding(np.zeros((4, 2), np.int64), 2)
NUMBERS = holding(np.zeros(4), 1)


def moments(codes: Codes, map: FeatureMap | None = None) -> tuple[AnyQuestion, Mechanism]:
    map = map or FeatureMap(np.zeros(FEATURES), 1.0)
    return MomentsQuestion(map, codes), Moments(columns=map.columns, codes=codes.width, sigma=SIGMA)


def gradients(loss: LOSS, outputs: int, features: int = FEATURES) -> tuple[AnyQuestion, Mechanism]:
    map = FeatureMap(np.zeros(features), 1.0)
    weights = np.zeros((map.columns, outputs))
    question = GradientQuestion(map, Target(loss, outputs), weights, 1.0)
    return question, Gradients(parameters=weights.size, sigma=SIGMA)


def boost(
    feature: int, indicators: int = 0, terms: tuple[AdditiveTerm, ...] = ()
) -> tuple[AnyQuestion, Mechanism]:
    model = AdditiveModel(np.zeros(1), terms)
    question = BoostQuestion(model, Target("logistic", 1), feature, UNBINNED, 4, 1.0, indicators)
    return question, Boost(bins=4, outputs=1, sigma=SIGMA)


def counts(column: int, *conditions: Condition, paid: int = 3) -> tuple[AnyQuestion, Mechanism]:
    asked = ColumnStatistic(column, 0.0, 1.0, 2)
    return StatisticsQuestion((asked,), conditions), Statistics(cells=paid, columns=1, sigma=SIGMA)


BINNED = FeatureMap(np.zeros(4), 1.0, cuts=(np.array([0.5]), UNBINNED, UNBINNED))
ANSWERED = {
    "two classes": (*moments(ClassCodes(np.eye(2))), TWO_CLASSES),
    "labels": (*moments(LabelCodes(np.zeros(2), 1.0)), TWO_LABELS),
    "a number": (*moments(NumberCodes(0.0, 1.0)), NUMBERS),
    "bins": (*moments(ClassCodes(np.eye(2)), BINNED), TWO_CLASSES),
    "softmax": (*gradients("softmax", 3), THREE_CLASSES),
    "logistic of two classes": (*gradients("logistic", 1), TWO_CLASSES),
    "logistic of labels": (*gradients("logistic", 2), TWO_LABELS),
    "squared": (*gradients("squared", 1), NUMBERS),
    "residuals of the last feature": (*boost(2), TWO_CLASSES),
    "residuals of a category": (*boost(1, indicators=2), TWO_CLASSES),
    "counts of a column and a class": (*counts(2, Condition(LABEL, 1, 1)), TWO_CLASSES),
    "counts of a number": (*counts(LABEL), NUMBERS),
}


@pytest.mark.parametrize(("question", "mechanism", "records"), ANSWERED.values(), ids=ANSWERED)
def test_what_the_plan_pays_for_and_the_task_has_is_answered(
    question: AnyQuestion, mechanism: Mechanism, records: Records
) -> None:
    check_question(question, mechanism, records)


TWO_FEATURES = FeatureMap(np.zeros(2), 1.0)
CUTS_OF_TWO = FeatureMap(np.zeros(3), 1.0, cuts=(np.array([0.5]), UNBINNED))
ABROAD = {
    "fewer features": (*moments(ClassCodes(np.eye(2)), TWO_FEATURES), TWO_CLASSES, "maps other"),
    "cuts of fewer features": (*moments(ClassCodes(np.eye(2)), CUTS_OF_TWO), TWO_CLASSES, "maps other"),
    "gradients of fewer features": (*gradients("softmax", 3, features=2), THREE_CLASSES, "maps other"),
    "more classes": (*moments(ClassCodes(np.eye(3))), TWO_CLASSES, "codes other classes"),
    "classes of labels": (*moments(ClassCodes(np.eye(2))), TWO_LABELS, "codes other classes"),
    "classes of numbers": (*moments(ClassCodes(np.ones((1, 1)))), NUMBERS, "codes other classes"),
    "more labels": (*moments(LabelCodes(np.zeros(3), 1.0)), TWO_LABELS, "codes other labels"),
    "labels of classes": (*moments(LabelCodes(np.zeros(2), 1.0)), TWO_CLASSES, "codes other labels"),
    "a number of classes": (*moments(NumberCodes(0.0, 1.0)), TWO_CLASSES, "codes a number"),
    "softmax of labels": (*gradients("softmax", 2), TWO_LABELS, r"target \(softmax\)"),
    "softmax of a number": (*gradients("softmax", 1), NUMBERS, r"target \(softmax\)"),
    "logistic of three classes": (*gradients("logistic", 1), THREE_CLASSES, r"target \(logistic\)"),
    "squared of classes": (*gradients("squared", 1), TWO_CLASSES, r"target \(squared\)"),
    "residuals of no feature": (*boost(3), TWO_CLASSES, "names a feature"),
    "residuals of half a category": (*boost(2, indicators=2), TWO_CLASSES, "names a feature"),
    "a term of no feature": (
        *boost(0, terms=(AdditiveTerm(3, UNBINNED, np.zeros((1, 1))),)),
        TWO_CLASSES,
        "names a feature",
    ),
    "counts of no column": (*counts(3), TWO_CLASSES, "names a column"),
    "a condition on no column": (*counts(0, Condition(3, 0, 1)), TWO_CLASSES, "names a column"),
    "counts of several labels": (*counts(LABEL), TWO_LABELS, "counts the label"),
}


@pytest.mark.parametrize(("question", "mechanism", "records", "told"), ABROAD.values(), ids=ABROAD)
def test_what_the_task_has_not_is_refused(
    question: AnyQuestion, mechanism: Mechanism, records: Records, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        check_question(question, mechanism, records)
    assert refused.value.code is ErrorCode.TASK_MISMATCH


UNPAID = {
    "votes": (counts(0)[0], GnMax(sigma=SIGMA), "another kind than mechanism gnmax"),
    "sums of another kind": (counts(0)[0], gradients("softmax", 2)[1], "than mechanism gradients"),
    "more values": (moments(ClassCodes(np.eye(2)))[0], Moments(columns=4, codes=1, sigma=SIGMA), "pays for"),
    "more cells": (*counts(0, paid=2), "other columns or cells"),
    "fewer cells": (*counts(0, paid=4), "other columns or cells"),
    "more columns": (
        StatisticsQuestion((ColumnStatistic(0, 0.0, 1.0, 2), ColumnStatistic(1, 0.0, 1.0, 2))),
        Statistics(cells=6, columns=1, sigma=SIGMA),
        "other columns or cells",
    ),
}


@pytest.mark.parametrize(("question", "mechanism", "told"), UNPAID.values(), ids=UNPAID)
def test_what_the_plan_does_not_pay_for_is_refused(
    question: AnyQuestion, mechanism: Mechanism, told: str
) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        check_question(question, mechanism, TWO_CLASSES)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize(("features", "taken"), [(3, True), (5, False)])
def test_a_network_takes_what_an_encoder_makes_of_records(features: int, *, taken: bool) -> None:
    X, encoded = np.zeros((4, 5), np.float32), np.zeros((4, 3), np.float32)
    records = Records(X, NOBODY, NOBODY, 2, NOBODY, codes=X, features=encoded)
    parameters = np.zeros(2 * (features + 1), np.float32)
    question = NetworkQuestion("linear", (features,), Target("softmax", 2), parameters, 1.0)
    mechanism = Gradients(parameters=len(parameters), sigma=2.0)
    if taken:
        check_question(question, mechanism, records)
        return
    with pytest.raises(OstrakaError) as refused:
        check_question(question, mechanism, records)
    assert refused.value.code is ErrorCode.TASK_MISMATCH
