"""Checks that a question fits its plan and the party's records."""

import math

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, RecordSums, Statistics
from ostraka.common.sums.codes import ClassCodes, Codes, LabelCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import (
    LABEL,
    AnyQuestion,
    BoostQuestion,
    GradientQuestion,
    MomentsQuestion,
    NetworkQuestion,
    StatisticsQuestion,
    Target,
)
from ostraka.services.hosting.records import Records

KINDS: dict[type[AnyQuestion], frozenset[str]] = {
    MomentsQuestion: frozenset({"moments", "bins"}),
    GradientQuestion: frozenset({"gradients"}),
    NetworkQuestion: frozenset({"gradients"}),
    BoostQuestion: frozenset({"boost"}),
    StatisticsQuestion: frozenset({"statistics"}),
}
"""For each kind of question, the mechanisms whose rounds may ask it."""


def check_question(question: AnyQuestion, mechanism: Mechanism, records: Records) -> None:
    """Raise unless a question may be answered under a plan with this mechanism, by these records.

    `plan.invalid` for a question of another mechanism, or with blocks that the plan does not pay for,
    `task.mismatch` for one about other features, classes or columns.
    """
    if mechanism.kind not in KINDS[type(question)]:
        raise _unpaid(f"is of another kind than mechanism {mechanism.kind} sums")
    assert isinstance(mechanism, RecordSums)  # noqa: S101 - each of these kinds is one
    _check_blocks(question, mechanism)
    match question:
        case MomentsQuestion():
            _check_map(question.map, records)
            _check_codes(question.codes, records)
        case GradientQuestion():
            _check_map(question.map, records)
            _check_target(question.target, records)
        case NetworkQuestion():
            features = math.prod(question.shape)
            _require(features == records.features.shape[1], "takes records of another shape")
            _check_target(question.target, records)
        case BoostQuestion():
            asked = [(question.feature, question.indicators)]
            asked += [(term.feature, term.indicators) for term in question.model.terms]
            last = max(feature + max(1, indicators) for feature, indicators in asked)
            _require(last <= records.features.shape[1], "names a feature that records do not have")
            _check_target(question.target, records)
        case StatisticsQuestion():
            _check_columns(question, records)


def _check_blocks(question: AnyQuestion, mechanism: RecordSums) -> None:
    if isinstance(question, StatisticsQuestion):
        # One block of the plan has the counts of all columns; the plan states their maximum number.
        assert isinstance(mechanism, Statistics)  # noqa: S101 - its kind is the question's
        if len(question.columns) > mechanism.columns or sum(question.widths) != mechanism.cells:
            raise _unpaid("counts other columns or cells than the plan pays for")
        return
    widths = tuple(block.width for block in mechanism.blocks)
    if question.widths != widths:
        raise _unpaid(f"asks for blocks of {question.widths} values and the plan pays for {widths}")


def _check_map(map: FeatureMap, records: Records) -> None:
    features = records.features.shape[1]
    known = len(map.cuts) == features if map.cuts else len(map.center) == features
    _require(known, f"maps other features than the {features} that records have")


def _check_codes(codes: Codes, records: Records) -> None:
    match codes:
        case ClassCodes():
            _require(
                records.y.ndim == 1 and records.holds_classes and len(codes.vectors) == records.classes,
                "codes other classes than the task's",
            )
        case LabelCodes():
            _require(
                records.y.ndim == 2 and codes.width == records.classes, "codes other labels than the task's"
            )
        case _:
            _require(not records.holds_classes, "codes a number and the task has classes")


def _check_target(target: Target, records: Records) -> None:
    outputs = {
        "softmax": records.classes if records.holds_classes and records.y.ndim == 1 else 0,
        "logistic": (
            records.classes if records.y.ndim == 2 else int(records.holds_classes and records.classes == 2)
        ),
        "squared": int(not records.holds_classes),
    }
    _require(target.outputs == outputs[target.loss], f"has a target ({target.loss}) that the task has not")


def _check_columns(question: StatisticsQuestion, records: Records) -> None:
    named = [one.column for one in question.columns] + [one.column for one in question.conditions]
    for column in named:
        if column == LABEL:
            _require(records.y.ndim == 1, "counts the label of a task that has several")
        else:
            _require(column < records.codes.shape[1], "names a column that the task does not have")


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"The question {problem}: give all sites the same task.toml, and ask for what it has.",
        )


def _unpaid(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.PLAN_INVALID, f"The question {problem}: open a session with a plan of this question."
    )
