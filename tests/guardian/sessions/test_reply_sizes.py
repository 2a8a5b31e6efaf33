"""Replies of one length: what the network and who copies the ledger see says nothing about answers."""

import numpy as np
import pytest

from ostraka.common.mechanism import Binary, GnMax
from ostraka.guardian.mechanisms import Answers
from ostraka.guardian.sessions.outcome import encode, encode_answered
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.sessions.test_outcome import plan_of

QUERIES = 5


@pytest.mark.parametrize("classes", [2, 10, 128, 129, 20_000])
def test_answers_of_one_class_are_of_one_length(classes: int) -> None:
    plan = plan_of(GnMax(sigma=3), QUERIES, classes, 64, "record")
    shape = (QUERIES, 1)
    given = [
        Answers.all(np.full(shape, label)) for label in sorted({0, 1, min(127, classes - 1), classes - 1})
    ]
    none = Answers.where(np.zeros(shape, np.bool_), np.zeros(shape, np.int64))
    mixed = Answers.where(np.arange(QUERIES)[:, None] % 2 == 0, np.full(shape, classes - 1))
    replies = [encode(answers, plan) for answers in (*given, none, mixed)]
    assert len({len(reply) for reply in replies}) == 1
    assert len({len(reply) for reply in (encode_answered(mixed.answered, plan), replies[0])}) == 1
    read = guardian_pb2.ReleaseReply.FromString(replies[-1]).answers
    assert [(one.answered, one.label) for one in read[:2]] == [(True, classes - 1), (False, 0)]


@pytest.mark.parametrize("labels", [2, 8, 9])
def test_answers_of_several_labels_are_of_one_length(labels: int) -> None:
    plan = plan_of(Binary(sigma=3), QUERIES, labels, 64, "record")
    shape = (QUERIES, labels)
    whole, nothing = np.ones(shape, np.bool_), np.zeros(shape, np.bool_)
    given = [Answers.where(answered, whole * bit) for answered in (whole, nothing) for bit in (0, 1)]
    replies = [*(encode(answers, plan) for answers in given), encode_answered(whole, plan)]
    assert len({len(reply) for reply in replies}) == 1
