"""Answers as the guardian sends them, as a run keeps them, and as costs count them."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.protos.ostraka.v1 import guardian_pb2

Answer: TypeAlias = int | tuple[int | None, ...] | None
"""The answer to a query: a class index, or for every label 1, 0, or None if that label got no answer, or None
if there is no answer at all."""


def read_answers(answers: Sequence[guardian_pb2.Answer], size: int, plan: Plan) -> list[Answer]:
    """Return the answers of a batch, by query; raise `message.invalid` if they do not fit a batch of
    `size`."""
    read = _label_answer if plan.multi_label else _class_answer
    try:
        if len(answers) != size:
            raise ValueError
        return [read(answer, plan.classes) for answer in answers]
    except ValueError as exc:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"The guardian's answers do not fit a batch of {size} queries and {plan.classes} "
            f"{'labels' if plan.multi_label else 'classes'}: use the same version everywhere.",
        ) from exc


def answers_from(labels: NDArray[np.int64], answered: NDArray[np.bool_], plan: Plan) -> list[Answer]:
    """Combine labels and a mask of given answers, both (queries, answers per query), to answers by query."""
    given = [
        tuple(label if known else None for label, known in zip(*row, strict=True))
        for row in zip(labels.tolist(), answered.tolist(), strict=True)
    ]
    if plan.multi_label:
        return [row if any(bit is not None for bit in row) else None for row in given]
    return [row[0] for row in given]


def answer_mask(answers: Sequence[Answer], plan: Plan) -> NDArray[np.bool_]:
    """Return which answers were given, (queries, answers per query), as `WorstCase.rdp` takes it."""
    width = plan.mechanism.answers(plan.classes)
    rows = [_mask_of(answer, width) for answer in answers]
    return np.array(rows, dtype=np.bool_).reshape(len(rows), width)


def label_matrix(answers: Sequence[Answer], labels: int) -> NDArray[np.int64]:
    """Return answers to a multi-label task as 1, 0, or -1 for no answer, (queries, labels)."""
    rows = [
        [-1 if bit is None else bit for bit in answer] if isinstance(answer, tuple) else [-1] * labels
        for answer in answers
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), labels)


def of_task(answer: Answer, plan: Plan, labels: int) -> Answer:
    """Widen an answer for the plan's labels to all `labels` of the task: None for labels that were not
    asked."""
    if not plan.labels or not isinstance(answer, tuple):
        return answer
    given = dict(zip(plan.labels, answer, strict=True))
    return tuple(given.get(label) for label in range(labels))


def _mask_of(answer: Answer, width: int) -> list[bool]:
    if isinstance(answer, tuple):
        return [bit is not None for bit in answer]
    return [answer is not None] * width


def _class_answer(answer: guardian_pb2.Answer, classes: int) -> Answer:
    if not answer.answered:
        return None
    if answer.label >= classes:
        raise ValueError
    return answer.label


def _label_answer(answer: guardian_pb2.Answer, labels: int) -> Answer:
    if not answer.answered:
        return None
    answered, positive = (_bits(data, labels) for data in (answer.answered_labels, answer.positive_labels))
    if not answered.any() or (positive & ~answered).any():
        raise ValueError
    return tuple(int(yes) if known else None for known, yes in zip(answered, positive, strict=True))


def _bits(data: bytes, labels: int) -> NDArray[np.bool_]:
    bits = np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.bool_)
    if len(data) != -(-labels // 8) or bits[labels:].any():
        raise ValueError
    return bits[:labels]
