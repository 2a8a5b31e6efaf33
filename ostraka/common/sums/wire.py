"""Questions as messages of `ostraka.v1`, checked on reading; everything else in them is public anyway."""

import math
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
from google.protobuf.message import DecodeError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes, NumberCodes
from ostraka.common.sums.feature_map import FeatureMap, Floats
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
from ostraka.common.wire.limits import check_limits
from ostraka.protos.ostraka.v1 import questions_pb2

NETWORKS = ("linear", "small-mlp", "small-cnn")
"""Kinds of networks that a question may name."""


def question_bytes(question: AnyQuestion) -> bytes:
    """Return a serialized question; equal questions give equal bytes."""
    message = questions_pb2.Question()
    match question:
        case MomentsQuestion():
            message.moments.map.CopyFrom(_map_message(question.map))
            message.moments.codes.CopyFrom(_codes_message(question.codes))
            message.moments.gram = question.gram
        case GradientQuestion():
            message.gradient.map.CopyFrom(_map_message(question.map))
            message.gradient.target.CopyFrom(_target_message(question.target))
            message.gradient.weights = _bytes(question.weights)
            message.gradient.radius = question.radius
        case NetworkQuestion():
            message.network.network = question.network
            message.network.shape.extend(question.shape)
            message.network.target.CopyFrom(_target_message(question.target))
            message.network.parameters = question.parameters.astype("<f4").tobytes()
            message.network.radius = question.radius
        case BoostQuestion():
            message.boost.intercept = _bytes(question.model.intercept)
            message.boost.terms.extend(_term_message(term) for term in question.model.terms)
            message.boost.target.CopyFrom(_target_message(question.target))
            message.boost.feature = question.feature
            message.boost.cuts = _bytes(question.cuts)
            message.boost.bins = question.bins
            message.boost.radius = question.radius
            message.boost.indicators = question.indicators
        case StatisticsQuestion():
            message.statistics.columns.extend(
                questions_pb2.ColumnStatistic(column=c.column, low=c.low, high=c.high, bins=c.bins)
                for c in question.columns
            )
            message.statistics.conditions.extend(
                questions_pb2.Condition(column=c.column, low=c.low, high=c.high) for c in question.conditions
            )
    return message.SerializeToString(deterministic=True)


def read_question(data: bytes) -> AnyQuestion:
    """Read a serialized question.

    Raises:
        OstrakaError: `message.invalid` for an invalid question, `message.too_large` for too long lists.
    """
    message = questions_pb2.Question()
    try:
        message.ParseFromString(data)
    except DecodeError as exc:
        raise _invalid("its bytes are not a question") from exc
    check_limits(message)
    match message.WhichOneof("kind"):
        case "moments":
            moments = message.moments
            return MomentsQuestion(_map(moments.map), _codes(moments.codes), moments.gram)
        case "gradient":
            return _gradient(message.gradient)
        case "network":
            return _network(message.network)
        case "boost":
            return _boost(message.boost)
        case "statistics":
            return _statistics(message.statistics)
    raise _invalid("it asks nothing that this version knows")


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID,
        f"The question cannot be answered: {problem}; use the same version everywhere.",
    )


def _bytes(values: Floats) -> bytes:
    return np.ascontiguousarray(values, "<f8").tobytes()


def _floats(data: bytes, name: str) -> Floats:
    """Return finite numbers (n,)."""
    if len(data) % 8:
        raise _invalid(f"{name} are no float64")
    values = np.frombuffer(data, "<f8").astype(np.float64)
    if not np.isfinite(values).all():
        raise _invalid(f"{name} are not finite")
    return values


def _matrix(data: bytes, columns: int, name: str) -> Floats:
    """Return finite numbers (n, columns)."""
    values = _floats(data, name)
    if columns < 1 or not len(values) or len(values) % columns:
        raise _invalid(f"{name} have no rows of {columns}")
    return values.reshape(-1, columns)


def _rising(data: bytes, name: str) -> Floats:
    """Return finite numbers in strictly ascending order; possibly none."""
    values = _floats(data, name)
    if (np.diff(values) <= 0).any():
        raise _invalid(f"{name} do not rise")
    return values


def _above_zero(value: float, name: str) -> float:
    if not 0 < value < math.inf:
        raise _invalid(f"{name} is {value:g} and no number above 0")
    return value


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise _invalid(f"{name} is not a number")
    return value


def _map_message(map: FeatureMap) -> questions_pb2.FeatureMap:
    return questions_pb2.FeatureMap(
        center=_bytes(map.center),
        scale=map.scale,
        constant=map.constant,
        cuts=[_bytes(cuts) for cuts in map.cuts],
        low=_bytes(map.low),
        high=_bytes(map.high),
    )


def _map(message: questions_pb2.FeatureMap) -> FeatureMap:
    if not 0 <= message.constant < 1:
        raise _invalid("the map's constant is not from 0 to below 1")
    cuts = tuple(_rising(cuts, "a feature's cuts") for cuts in message.cuts)
    center = _floats(message.center, "the map's centre")
    if cuts and len(center) != sum(len(one) + 1 for one in cuts if len(one)) + sum(not len(c) for c in cuts):
        raise _invalid("the map's centre has another size than its bins")
    low = _floats(message.low, "the map's ends")
    high = _floats(message.high, "the map's ends")
    features = len(cuts) or len(center)
    if len(low) not in (0, features) or len(high) != len(low) or (low >= high).any():
        raise _invalid("the map's ends are none of its features'")
    scale = _above_zero(message.scale, "the map's scale")
    return FeatureMap(center, scale, message.constant, cuts, low, high)


def _codes_message(codes: Codes) -> questions_pb2.Codes:
    match codes:
        case ClassCodes():
            classes = questions_pb2.ClassCodes(vectors=_bytes(codes.vectors), width=codes.width)
            return questions_pb2.Codes(classes=classes)
        case LabelCodes():
            labels = questions_pb2.LabelCodes(offsets=_bytes(codes.offsets), scale=codes.scale)
            return questions_pb2.Codes(labels=labels)
        case NumberCodes():
            number = questions_pb2.NumberCodes(center=codes.center, scale=codes.scale)
            return questions_pb2.Codes(number=number)


def _codes(message: questions_pb2.Codes) -> Codes:
    match message.WhichOneof("kind"):
        case "classes":
            return ClassCodes(_matrix(message.classes.vectors, message.classes.width, "codes of classes"))
        case "labels":
            labels = message.labels
            offsets = _matrix(labels.offsets, 1, "offsets of labels")[:, 0]
            return LabelCodes(offsets, _above_zero(labels.scale, "the scale of labels"))
        case "number":
            number = message.number
            center = _finite(number.center, "the centre of numbers")
            return NumberCodes(center, _above_zero(number.scale, "the scale of numbers"))
    raise _invalid("it has no codes")


def _target_message(target: Target) -> questions_pb2.Target:
    return questions_pb2.Target(
        loss=target.loss, outputs=target.outputs, center=target.center, scale=target.scale
    )


def _target(message: questions_pb2.Target) -> Target:
    if message.loss not in ("softmax", "logistic", "squared"):
        raise _invalid("its loss is none of softmax, logistic and squared")
    if message.outputs < 1:
        raise _invalid("its target has no outputs")
    return Target(
        message.loss,  # type: ignore[arg-type]
        message.outputs,
        _finite(message.center, "the target's centre"),
        _above_zero(message.scale, "the target's scale"),
    )


def _gradient(message: questions_pb2.GradientQuestion) -> GradientQuestion:
    map = _map(message.map)
    target = _target(message.target)
    weights = _matrix(message.weights, target.outputs, "the model's weights")
    if len(weights) != map.columns:
        raise _invalid("the model's weights do not fit its map")
    return GradientQuestion(map, target, weights, _above_zero(message.radius, "the radius"))


def _network(message: questions_pb2.NetworkQuestion) -> NetworkQuestion:
    if message.network not in NETWORKS or not message.shape or min(message.shape) < 1:
        raise _invalid(f"its network is none of {', '.join(NETWORKS)} of records of some shape")
    if len(message.parameters) % 4:
        raise _invalid("its parameters are not float32")
    parameters = np.frombuffer(message.parameters, "<f4").astype(np.float32)
    if not np.isfinite(parameters).all():
        raise _invalid("its parameters are not finite")
    radius = _above_zero(message.radius, "the radius")
    return NetworkQuestion(message.network, tuple(message.shape), _target(message.target), parameters, radius)


def _term_message(term: AdditiveTerm) -> questions_pb2.AdditiveTerm:
    return questions_pb2.AdditiveTerm(
        feature=term.feature,
        cuts=_bytes(term.cuts),
        values=_bytes(term.values),
        indicators=term.indicators,
    )


def _terms(messages: Iterable[questions_pb2.AdditiveTerm], outputs: int) -> tuple[AdditiveTerm, ...]:
    terms = tuple(
        AdditiveTerm(
            one.feature,
            _rising(one.cuts, "a term's cuts"),
            _matrix(one.values, outputs, "a term's values"),
            one.indicators,
        )
        for one in messages
    )
    if any(len(term.values) != _count_bins(term.cuts, term.indicators) for term in terms):
        raise _invalid("a term has another number of values than bins")
    # A million terms of one feature would make every record take a million times as long.
    spans = sorted((term.feature, term.feature + max(1, term.indicators)) for term in terms)
    if any(end > start for (_, end), (start, _) in pairwise(spans)):
        raise _invalid("two terms of its model are of the same feature")
    return terms


def _count_bins(cuts: Floats, indicators: int) -> int:
    """Return the number of bins of a feature with these cuts, or of a category; 0 if it claims to be both."""
    if len(cuts) and indicators:
        return 0
    return (indicators or len(cuts)) + 1


def _boost(message: questions_pb2.BoostQuestion) -> BoostQuestion:
    target = _target(message.target)
    cuts = _rising(message.cuts, "the feature's cuts")
    intercept = _floats(message.intercept, "the intercept")
    needed = _count_bins(cuts, message.indicators)
    if len(intercept) != target.outputs or not 0 < needed <= message.bins:
        raise _invalid("its intercept or bins have another size than its target and cuts")
    model = AdditiveModel(intercept, _terms(message.terms, target.outputs))
    radius = _above_zero(message.radius, "the radius")
    return BoostQuestion(model, target, message.feature, cuts, message.bins, radius, message.indicators)


def _statistics(message: questions_pb2.StatisticsQuestion) -> StatisticsQuestion:
    for column in message.columns:
        ends = _finite(column.low, "the lower end of a column"), _finite(column.high, "its upper end")
        if ends[0] >= ends[1] or column.bins < 1:
            raise _invalid("a column has no range or no bins")
    named = [one.column for one in message.columns] + [one.column for one in message.conditions]
    if any(column < LABEL for column in named):
        raise _invalid("it names a column that there is none of")
    columns = tuple(ColumnStatistic(one.column, one.low, one.high, one.bins) for one in message.columns)
    conditions = tuple(Condition(one.column, one.low, one.high) for one in message.conditions)
    return StatisticsQuestion(columns, conditions)
