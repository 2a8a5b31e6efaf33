"""What a party answers to questions about sums over its records, over the wire."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Gradients, Moments, Statistics
from ostraka.common.mechanism.message import mechanism_of
from ostraka.common.privacy import amount
from ostraka.common.rpc import call_error, split
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.codes import ClassCodes
from ostraka.common.sums.feature_map import FeatureMap
from ostraka.common.sums.questions import (
    ColumnStatistic,
    GradientQuestion,
    MomentsQuestion,
    StatisticsQuestion,
    Target,
)
from ostraka.common.sums.wire import question_bytes
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2, party_pb2_grpc
from ostraka.services.hosting.admission import Admission
from ostraka.services.journal.journal import Journal
from tests.services.wire import Caller, Federation

FEATURES = 64
QUESTION = MomentsQuestion(FeatureMap(np.full(FEATURES, 0.5), 4.0), ClassCodes(np.eye(10)))
WIDTH = (FEATURES + 1) * 10
MECHANISM = Moments(columns=FEATURES + 1, codes=10, sigma=2.0)


@dataclass
class AskSum:
    """One question as it is asked; what is not given is right."""

    caller: Caller
    data: bytes = question_bytes(QUESTION)
    batch_id: int = 1
    size: int | None = None
    sha256: bytes | None = None

    def messages(self) -> Iterator[party_pb2.SumRequest]:
        plan = self.caller.federation.plan.serialize()
        header = party_pb2.SumHeader(
            plan=plan,
            grant=self.caller.grant(),
            ticket=self.caller.ticket(self.batch_id, 1),
            size=len(self.data) if self.size is None else self.size,
            sha256=self.sha256 or hashlib.sha256(self.data).digest(),
        )
        yield party_pb2.SumRequest(header=header)
        yield from (party_pb2.SumRequest(chunk=chunk) for chunk in split(self.data))

    def answer(self) -> party_pb2.VoteReplyHeader:
        try:
            return party_pb2_grpc.PartyStub(self.caller.channel).Sum(self.messages(), timeout=60)
        except grpc.RpcError as exc:
            raise call_error(exc) from exc


def asking(federation: Federation, queries: int = 3, **policy: object) -> None:
    """Have athens answer with its records in a plan of moments."""
    federation.set_policy(**({"mechanisms": ["votes", "sums"]} | policy))
    federation.set_table("training", data="records.npz")
    save(digits(), federation.party / "records.npz")
    federation.replan(mechanism=MECHANISM, queries=queries, batch_size=1)


@contextmanager
def refused(code: ErrorCode, told: str | None = None) -> Iterator[None]:
    with pytest.raises(OstrakaError, match=told) as caught:
        yield
    assert caught.value.code is code


def spent(federation: Federation, order: float = 8.0) -> int:
    with Journal(federation.party / "journal.db") as journal:
        return journal.amount_spent(order)


def test_a_question_is_answered_once_with_the_same_bytes(attica: Federation) -> None:
    asking(attica)
    data = digits()
    X = attica.task.prepare(data.X)
    with attica.serving() as caller:
        first = AskSum(caller).answer()
        assert AskSum(caller).answer() == first
        other = MomentsQuestion(QUESTION.map, ClassCodes(-np.eye(10)))
        with refused(ErrorCode.BATCH_ALTERED):
            AskSum(caller, question_bytes(other)).answer()
        found = caller.ballots(first)
    expected = (QUESTION.map(X).T @ np.eye(10)[data.labels()]).ravel()
    assert np.abs(found - expected).max() <= 2.0**-FRACTION_BITS
    assert spent(attica) == amount(MECHANISM.worst_case(8.0, classes=10).answer)


def test_a_party_that_restarted_answers_no_entry_again(attica: Federation) -> None:
    asking(attica)
    with attica.serving() as caller:
        AskSum(caller).answer()
    charged = spent(attica)
    with attica.serving() as caller:
        with refused(ErrorCode.BATCH_RESTARTED):
            AskSum(caller).answer()
        assert spent(attica) == charged
        AskSum(caller, batch_id=2).answer()
    assert spent(attica) == 2 * charged


def test_a_restored_guardian_is_told_of_sums_by_receipts(attica: Federation) -> None:
    asking(attica)
    with attica.serving() as caller:
        AskSum(caller).answer()
    attica.guardian.restore()
    with attica.serving() as caller:
        AskSum(caller, batch_id=2).answer()
    (message,) = attica.guardian.receipts
    (told,) = common_pb2.Receipts.FromString(message.payload).receipts
    assert mechanism_of(told.mechanism) == MECHANISM
    assert (told.batch_id, told.queries, told.classes, told.sensitivity) == (1, 1, 10, 1.0)


GRADIENT = GradientQuestion(QUESTION.map, Target("softmax", 10), np.zeros((FEATURES + 1, 10)), 1.0)
WRONG = {
    "of another kind": (question_bytes(GRADIENT), ErrorCode.PLAN_INVALID),
    "with a block that nobody pays": (
        question_bytes(MomentsQuestion(QUESTION.map, QUESTION.codes, gram=True)),
        ErrorCode.PLAN_INVALID,
    ),
    "of more codes": (
        question_bytes(MomentsQuestion(QUESTION.map, ClassCodes(np.ones((10, 11))))),
        ErrorCode.PLAN_INVALID,
    ),
    "of other classes": (
        question_bytes(MomentsQuestion(QUESTION.map, ClassCodes(np.ones((9, 10))))),
        ErrorCode.TASK_MISMATCH,
    ),
    "of no bytes": (b"", ErrorCode.MESSAGE_INVALID),
    "of garbage": (b"\xff" * 40, ErrorCode.MESSAGE_INVALID),
    "of no numbers": (
        question_bytes(MomentsQuestion(FeatureMap(np.full(FEATURES, np.nan), 4.0), QUESTION.codes)),
        ErrorCode.MESSAGE_INVALID,
    ),
    "of a constant as long as a record": (
        question_bytes(MomentsQuestion(FeatureMap(np.zeros(FEATURES), 4.0, 1.0), QUESTION.codes)),
        ErrorCode.MESSAGE_INVALID,
    ),
}


def test_questions_that_the_plan_does_not_pay_for_are_refused_and_cost_nothing(attica: Federation) -> None:
    asking(attica)
    with attica.serving() as caller:
        for name, (data, code) in WRONG.items():
            with pytest.raises(OstrakaError) as caught:
                AskSum(caller, data).answer()
            assert caught.value.code is code, name
        with refused(ErrorCode.MESSAGE_INVALID):
            AskSum(caller, sha256=bytes(32)).answer()
    assert spent(attica) == 0


def test_no_larger_question_is_taken_than_can_be_answered(
    attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = len(question_bytes(QUESTION)) - 1
    monkeypatch.setattr("ostraka.services.admission.request_checks.MAX_QUESTION_BYTES", most)
    asking(attica)
    with attica.serving() as caller, refused(ErrorCode.MESSAGE_TOO_LARGE):
        AskSum(caller).answer()
    assert spent(attica) == 0


def test_policies_that_name_no_sums_answer_none(attica: Federation) -> None:
    asking(attica, mechanisms=["votes"])
    with attica.serving() as caller, refused(ErrorCode.POLICY_REFUSED):
        AskSum(caller).answer()
    assert spent(attica) == 0


def test_a_plan_of_votes_is_answered_no_sum(attica: Federation) -> None:
    asking(attica)
    attica.replan(mechanism=Gradients(parameters=WIDTH, sigma=2.0))
    with attica.serving() as caller, refused(ErrorCode.PLAN_INVALID, "another kind"):
        AskSum(caller).answer()


def test_a_place_stands_for_the_answer_however_short_its_question(
    attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = []

    class Watched(Admission):
        def place(self, size: int, site: str) -> Any:
            held.append(size)
            return super().place(size, site)

    monkeypatch.setattr("ostraka.services.serving.server.Admission", Watched)
    asking(attica)
    cells = 2**20
    attica.replan(mechanism=Statistics(cells=cells, columns=1, sigma=2.0))
    question = question_bytes(StatisticsQuestion((ColumnStatistic(0, 0.0, 1.0, cells - 1),)))
    with attica.serving() as caller:
        AskSum(caller, question).answer()
    assert len(question) < 100
    assert held[0] >= 6 * 8 * cells, "measured: as many copies of int64 and float64 at once"
