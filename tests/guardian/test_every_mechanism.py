"""Every mechanism through a real guardian: opened, voted on, released, charged."""

from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.common.errors import ErrorCode
from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.privacy import epsilon
from ostraka.common.rpc import call_error
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, TEACHERS, Calls, Federation, plan, refusal, unanimous

CLASSES, QUERIES = 4, 6
CHECK = Check(sigma=0.5, threshold=20)
SINGLE = [
    GnMax(sigma=1),
    Confident(sigma1=1, sigma2=1, threshold=20),
    LnMax(gamma=2),
]
LABELS = [
    Binary(sigma=1),
    Binary(sigma=1, check=CHECK),
    Tau(sigma=0.5, tau=1.9),
    L1(sigma=0.5, tau1=3.5, check=Check(sigma=0.5, threshold=10)),
    Powerset(sigma=1),
    Powerset(sigma=1, max_positives=2, check=CHECK),
]
SET = np.array([True, False, True, False])


def named(mechanism: Mechanism) -> str:
    return f"{mechanism.kind}{'-checked' if getattr(mechanism, 'check', None) else ''}"


@pytest.fixture
def guardian(tmp_path: Path) -> Any:
    with Federation(tmp_path).guardian() as calls:
        calls.prepare_all()
        yield calls


def asked(guardian: Calls, mechanism: Mechanism, votes: np.ndarray, **changes: Any) -> tuple[str, Any]:
    """Open a batch that everybody voted on: return its session and the sum to send."""
    queries = votes.shape[1]
    chosen = {"mechanism": mechanism, "multi_label": mechanism.multi_label}
    session = guardian.open(plan(**chosen, queries=queries, batch_size=queries, **changes)).session_id
    guardian.ticket(session, 1, queries)
    return session, guardian.vote(session, 1, votes)


def label_votes(mechanism: Mechanism) -> np.ndarray:
    """Ballots (sites, queries, width) of teachers that all vote for `SET`."""
    scores = np.broadcast_to(SET, (TEACHERS, QUERIES, CLASSES)).astype(np.float32)
    return np.stack([mechanism.ballot.count(scores, CLASSES)] * len(PARTIES))


def worst_epsilon(guardian: Calls, mechanism: Mechanism, answered: np.ndarray) -> float:
    (budget,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a"))
    cost = mechanism.worst_case(budget.order, classes=CLASSES)
    return epsilon(cost.rdp(answered), budget.order, budget.delta)


@pytest.mark.parametrize("mechanism", SINGLE, ids=named)
def test_unanimous_votes_give_their_class_at_the_worst_case(guardian: Calls, mechanism: Mechanism) -> None:
    session, total = asked(guardian, mechanism, unanimous(QUERIES))
    answers = guardian.release(session, 1, total)
    assert answers == [(True, 1)] * QUERIES
    everything = np.ones((QUERIES, 1), dtype=np.bool_)
    assert guardian.spent() == pytest.approx(worst_epsilon(guardian, mechanism, everything), rel=1e-6)


@pytest.mark.parametrize("mechanism", LABELS, ids=named)
def test_unanimous_votes_give_their_labels_at_the_worst_case(guardian: Calls, mechanism: Mechanism) -> None:
    session, total = asked(guardian, mechanism, label_votes(mechanism))
    answers = guardian.answers(session, 1, total)
    assert len(answers) == QUERIES
    answered = np.array([bits(answer.answered_labels) for answer in answers])
    positive = np.array([bits(answer.positive_labels) for answer in answers])
    assert [answer.answered for answer in answers] == answered.any(axis=1).tolist()
    assert answered.mean() > 0.9
    np.testing.assert_array_equal(positive[answered], np.broadcast_to(SET, positive.shape)[answered])
    assert not (positive & ~answered).any()
    assert guardian.spent() == pytest.approx(worst_epsilon(guardian, mechanism, answered), rel=1e-6)


def bits(packed: bytes) -> np.ndarray:
    assert len(packed) == 1
    return np.unpackbits(np.frombuffer(packed, np.uint8), count=CLASSES).astype(np.bool_)


def test_a_check_that_nothing_passes_gives_no_answer_and_is_paid(guardian: Calls) -> None:
    mechanism = Binary(sigma=1, check=Check(sigma=1, threshold=60))
    session, total = asked(guardian, mechanism, label_votes(mechanism))
    answers = guardian.answers(session, 1, total)
    nothing_said = guardian_pb2.Answer(answered=False, answered_labels=b"\0", positive_labels=b"\0")
    assert answers == [nothing_said] * QUERIES
    nothing = np.zeros((QUERIES, CLASSES), dtype=np.bool_)
    assert guardian.spent() == pytest.approx(worst_epsilon(guardian, mechanism, nothing), rel=1e-6)


@pytest.mark.heavy
def test_what_is_said_does_not_show_in_how_long_it_is(tmp_path: Path) -> None:
    """Unanimous for class 1, for class 0, and of no one mind: replies of one length, again and as settled."""
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all(1e6)
        for at, mechanism in enumerate([*SINGLE, *LABELS, INTERACTIVE]):
            every, first = np.zeros((2, len(PARTIES), QUERIES, mechanism.width(CLASSES)), dtype=np.int64)
            every[:, :, 1], first[:, :, 0] = TEACHERS, TEACHERS
            nobody = np.full_like(every, TEACHERS // 2 if mechanism.multi_label else 0)
            scores = believed(2) if mechanism is INTERACTIVE else None
            chosen = {"mechanism": mechanism, "multi_label": mechanism.multi_label, "nonce": bytes([at]) * 16}
            session = guardian.open(plan(**chosen, queries=3 * QUERIES, batch_size=QUERIES)).session_id
            lengths = set()
            for batch, votes in enumerate((every, first, nobody)):
                guardian.ticket(session, batch, QUERIES)
                released = guardian.replies(session, batch, guardian.vote(session, batch, votes), scores)
                settled = guardian.settle(session, batch)
                lengths.add((*(reply.ByteSize() for reply in released), settled.ByteSize()))
            assert len(lengths) == 1, mechanism


INTERACTIVE = Interactive(sigma1=1, sigma2=1, threshold=15, confidence=0.9)


def believed(label: int) -> np.ndarray:
    scores = np.zeros((QUERIES, CLASSES), dtype=np.int64)
    scores[:, label] = 2**16
    return scores


@pytest.mark.heavy
def test_a_student_that_knows_the_votes_gets_no_answer_and_one_that_does_not_gets_it(guardian: Calls) -> None:
    session, total = asked(guardian, INTERACTIVE, unanimous(QUERIES))
    agreed = guardian.answers(session, 1, total, believed(1))
    assert [answer.answered for answer in agreed] == [False] * QUERIES
    session, total = asked(guardian, INTERACTIVE, unanimous(QUERIES), nonce=b"m" * 16)
    surprised = guardian.answers(session, 1, total, believed(2))
    assert [(answer.answered, answer.label) for answer in surprised] == [(True, 1)] * QUERIES


@pytest.mark.heavy
def test_scores_are_part_of_what_was_asked(guardian: Calls) -> None:
    session, total = asked(guardian, INTERACTIVE, unanimous(QUERIES))
    first = guardian.answers(session, 1, total, believed(2))
    spent = guardian.spent()
    assert guardian.answers(session, 1, total, believed(2)) == first
    assert refusal(lambda: guardian.answers(session, 1, total, believed(1))) == "batch.altered"
    assert guardian.spent() == spent


@pytest.mark.parametrize(
    "scores", [None, believed(1)[:, :3], believed(1) + 1], ids=["none", "too few classes", "above 1"]
)
def test_scores_that_are_none_are_refused_and_nothing_is_charged(
    guardian: Calls, scores: np.ndarray | None
) -> None:
    session, total = asked(guardian, INTERACTIVE, unanimous(QUERIES))
    assert refusal(lambda: guardian.answers(session, 1, total, scores)) == "message.invalid"
    assert guardian.spent() == 0
    assert len(guardian.answers(session, 1, total, believed(1))) == QUERIES


def test_scores_without_an_interactive_plan_are_refused(guardian: Calls) -> None:
    session, total = asked(guardian, GnMax(sigma=1), unanimous(QUERIES))
    assert refusal(lambda: guardian.answers(session, 1, total, believed(1))) == "message.invalid"


CLUSTERS = NoiseCluster(sigma=2)


def counted() -> np.ndarray:
    """Each of three parties counts 100 records in 4 clusters; class 2 leads everywhere."""
    counts = np.array([[5, 0, 20, 0], [0, 5, 20, 0], [5, 5, 20, 0], [0, 0, 19, 1]])
    return np.stack([counts] * len(PARTIES))


def test_clusters_get_their_leading_label_and_cost_once(guardian: Calls) -> None:
    session, total = asked(guardian, CLUSTERS, counted())
    assert guardian.release(session, 1, total) == [(True, 2)] * 4
    one = np.ones((1, 1), dtype=np.bool_)
    assert guardian.spent() == pytest.approx(worst_epsilon(guardian, CLUSTERS, one), rel=1e-6)


def test_clusters_are_asked_all_at_once(guardian: Calls) -> None:
    session = guardian.open(plan(mechanism=CLUSTERS, queries=4, batch_size=4)).session_id
    assert refusal(lambda: guardian.ticket(session, 1, 3)) == "message.invalid"


@pytest.mark.heavy
def test_a_label_charge_debits_the_label_budget_alone(guardian: Calls) -> None:
    label = {"adjacency": "label"}
    unpaid = plan(mechanism=CLUSTERS, queries=4, batch_size=4, **label)
    assert refusal(lambda: guardian.open(unpaid)) == "budget.missing"
    for site in PARTIES:
        guardian.budget(site, 100.0, **label)
    session, total = asked(guardian, CLUSTERS, counted(), **label)
    assert guardian.release(session, 1, total) == [(True, 2)] * 4
    budgets = list(guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a")))
    spent = {budget.adjacency: budget.epsilon_worst_case for budget in budgets}
    assert spent["record"] == 0
    assert spent["label"] > 0


@pytest.mark.heavy
def test_a_budget_too_small_for_the_clusters_names_no_smaller_batch(tmp_path: Path) -> None:
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all(0.01)
        session = guardian.open(plan(mechanism=CLUSTERS, queries=4, batch_size=4)).session_id
        with pytest.raises(grpc.RpcError) as refused:
            guardian.ticket(session, 1, 4)
        error = call_error(refused.value)
        assert (error.code, error.details) == (ErrorCode.BUDGET_TOO_SMALL, {})
        assert "ask for more noise" in error.message


@pytest.mark.parametrize("mechanism", [*LABELS, CLUSTERS], ids=named)
def test_any_sum_is_answered(guardian: Calls, mechanism: Mechanism) -> None:
    queries = 4
    chosen = {"mechanism": mechanism, "multi_label": mechanism.multi_label}
    session = guardian.open(plan(**chosen, queries=queries, batch_size=queries)).session_id
    guardian.ticket(session, 1, queries)
    votes = np.zeros((len(PARTIES), queries, mechanism.width(CLASSES)), dtype=np.int64)
    total = guardian.vote(session, 1, votes)
    draws = np.random.default_rng(0).integers(0, 2**64, total.shape, dtype=np.uint64)
    assert len(guardian.answers(session, 1, total + draws)) == queries
