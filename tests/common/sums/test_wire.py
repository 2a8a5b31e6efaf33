import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.codes import ClassCodes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import (
    LABEL,
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
from ostraka.common.sums.wire import question_bytes, read_question
from ostraka.protos.ostraka.v1 import questions_pb2

PLAIN = FeatureMap(np.array([0.1, 0.2]), 1.5)
ENDS = np.array([0.0, -1.0]), np.array([1.0, 3.0])
BINNED = FeatureMap(np.full(4, 0.25), 2.0, 0.3, (np.array([0.2, 0.5]), np.empty(0)), *ENDS)
TERMS = (
    AdditiveTerm(0, np.array([0.5]), np.array([[0.1], [-0.1]])),
    AdditiveTerm(1, np.empty(0), np.ones((3, 1)), 2),
)
BOOST = BoostQuestion(
    AdditiveModel(np.array([0.3]), TERMS), Target("logistic", 1), 1, np.array([0.1, 0.9]), 8, 0.5
)
QUESTIONS: list[AnyQuestion] = [
    MomentsQuestion(PLAIN, ClassCodes(np.eye(3) - 1 / 3), gram=True),
    MomentsQuestion(BINNED, LabelCodes(np.array([0.5, 0.1]), 1.5)),
    MomentsQuestion(PLAIN, NumberCodes(3.0, 2.0)),
    GradientQuestion(PLAIN, Target("softmax", 3), np.ones((3, 3)), 0.5),
    GradientQuestion(PLAIN, Target("squared", 1, 2.0, 4.0), np.zeros((3, 1)), 0.5),
    NetworkQuestion("small-mlp", (2,), Target("softmax", 3), np.arange(5, dtype=np.float32), 0.5),
    BOOST,
    BoostQuestion(AdditiveModel(np.zeros(1)), Target("logistic", 1), 0, np.empty(0), 3, 1.0, indicators=2),
    StatisticsQuestion(
        (ColumnStatistic(0, 0.0, 1.0, 4), ColumnStatistic(LABEL, 0.0, 3.0, 3)), (Condition(1, 0, 2),)
    ),
]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: type(question).__name__)
def test_a_question_is_read_as_it_was_written(question: AnyQuestion) -> None:
    data = question_bytes(question)
    found = read_question(data)
    assert type(found) is type(question)
    assert found.widths == question.widths
    assert question_bytes(found) == data


def refusal(message: questions_pb2.Question | bytes) -> ErrorCode:
    data = message if isinstance(message, bytes) else message.SerializeToString()
    with pytest.raises(OstrakaError) as refused:
        read_question(data)
    return refused.value.code


def altered(question: AnyQuestion) -> questions_pb2.Question:
    return questions_pb2.Question.FromString(question_bytes(question))


def test_what_is_no_question_is_refused() -> None:
    assert refusal(b"\xff\xff") is ErrorCode.MESSAGE_INVALID
    assert refusal(questions_pb2.Question()) is ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan"), float("inf")])
def test_a_map_has_a_scale_above_zero(scale: float) -> None:
    message = altered(QUESTIONS[0])
    message.moments.map.scale = scale
    assert refusal(message) is ErrorCode.MESSAGE_INVALID


def test_numbers_are_finite_and_sizes_agree() -> None:
    message = altered(QUESTIONS[0])
    message.moments.map.center = np.array([np.nan, 0]).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[1])
    message.moments.map.center = np.zeros(3).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[1])
    message.moments.map.high = np.array([1.0, -1.0]).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message.moments.map.high = np.array([1.0]).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[3])
    message.gradient.weights = np.zeros(6).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[5])
    message.network.network = "os:system"
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(BOOST)
    message.boost.bins = 2
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(BOOST)
    message.boost.terms[0].cuts = np.array([0.5, 0.5]).tobytes()
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[8])
    message.statistics.columns[0].high = 0.0
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(QUESTIONS[8])
    message.statistics.conditions[0].column = -2
    assert refusal(message) is ErrorCode.MESSAGE_INVALID


def test_a_model_has_one_term_a_feature_so_that_no_record_takes_longer_than_it_has_features() -> None:
    message = altered(BOOST)
    message.boost.terms.append(message.boost.terms[0])
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
    message = altered(BOOST)
    message.boost.terms[1].feature = 0
    assert refusal(message) is ErrorCode.MESSAGE_INVALID
