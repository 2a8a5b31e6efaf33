"""Parties that abstain from labels, through a real guardian."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from common.mechanism import L1, AnyMechanism, Binary, Check, Powerset, Tau
from common.privacy import epsilon, worst_case
from common.sharing.ballots import ballots
from protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, TEACHERS, Calls, Federation, plan, refusal
from tests.guardian.training import Recording

LABELS, QUERIES = 4, 30
LEFT_OUT = {"a": [1, 3], "b": [3], "c": [3]}
VOTING = np.array([[label not in LEFT_OUT[site] for label in range(LABELS)] for site in PARTIES])
CHECK = Check(sigma=2.0, threshold=14.0)
MECHANISMS = [
    Binary(sigma=5.0),
    Binary(sigma=5.0, check=CHECK),
    Tau(sigma=4.0, tau=1.2),
    L1(sigma=4.0, tau1=1.5, check=CHECK),
]
VOTE = 2**16


@pytest.fixture
def noise() -> Recording:
    return Recording()


@pytest.fixture
def guardian(tmp_path: Path, noise: Recording) -> Iterator[Calls]:
    with Federation(tmp_path).guardian(noise) as calls:
        for site in PARTIES:
            calls.register(site, abstains=LEFT_OUT[site])
            calls.budget(site, 1000.0)
        yield calls


def asked(guardian: Calls, mechanism: AnyMechanism, **changes: Any) -> common_pb2.Grant:
    size = {"queries": QUERIES, "batch_size": QUERIES, "classes": LABELS}
    return guardian.open(plan(mechanism=mechanism, multi_label=True, **size | changes))


def cast(mechanism: AnyMechanism, seed: int = 0) -> NDArray[np.float64]:
    """Ballots (sites, queries, labels) of parties that abstain."""
    scores = np.random.default_rng(seed).random((len(PARTIES), TEACHERS, QUERIES, LABELS))
    own = scores * VOTING[:, None, None]
    return np.stack([ballots(site, mechanism, LABELS) for site in own])


def bits(answers: Sequence[guardian_pb2.Answer], name: str) -> NDArray[np.bool_]:
    packed = [np.frombuffer(getattr(answer, name), np.uint8) for answer in answers]
    return np.array([np.unpackbits(one, count=LABELS) for one in packed]).astype(np.bool_)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_answers_are_the_votes_and_the_noise_that_was_drawn(
    guardian: Calls, noise: Recording, mechanism: Any
) -> None:
    grant = asked(guardian, mechanism)
    assert [list(party.abstains) for party in grant.participants] == list(LEFT_OUT.values())
    guardian.ticket(grant.session_id, 1, QUERIES)
    votes = cast(mechanism)
    answers = guardian.answers(grant.session_id, 1, guardian.vote(grant.session_id, 1, votes))
    positives, n = VOTE * votes.sum(axis=0), VOTE * TEACHERS * VOTING.sum(axis=0)
    ((yes, no),) = (drawn for drawn in noise.drawn if drawn.ndim == 3)
    answered = np.broadcast_to(n > 0, positives.shape)
    if mechanism.check is not None:
        larger = np.maximum(positives, n - positives)
        (draws,) = (drawn for drawn in noise.drawn if drawn.ndim == 2)
        answered = answered & (larger + draws >= VOTE * mechanism.check.threshold)
    np.testing.assert_array_equal(bits(answers, "answered_labels"), answered)
    decided = answered & (positives + yes > n - positives + no)
    np.testing.assert_array_equal(bits(answers, "positive_labels"), decided)
    assert not answered[:, 3].any()
    assert answered.any()
    for site, voting in zip(PARTIES, VOTING, strict=True):
        (budget,) = guardian.budgets(site).values()
        cost = worst_case(mechanism, budget.order, classes=int(voting.sum()))
        paid = epsilon(cost.rdp(answered[:, voting]), budget.order, budget.delta)
        assert guardian.spent(site) == pytest.approx(paid, rel=1e-6)


def test_a_label_needs_votes_of_the_quorum(guardian: Calls) -> None:
    assert refusal(lambda: asked(guardian, Binary(sigma=5.0), quorum=3)) == "quorum.lost"
    session = asked(guardian, Binary(sigma=5.0), queries=2 * QUERIES).session_id
    guardian.ticket(session, 1, QUERIES)
    assert refusal(lambda: guardian.ticket(session, 2, QUERIES, unavailable=["b"])) == "quorum.lost"
    guardian.ticket(session, 3, QUERIES, unavailable=["a"])


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"mechanism": Powerset(sigma=5.0)}, "plan.invalid"),
        ({"tally": "blind", "ring_bits": 32}, "plan.invalid"),
        ({"classes": 3}, "task.mismatch"),
    ],
)
def test_sessions_that_need_every_vote_are_not_opened(
    guardian: Calls, changes: dict[str, Any], code: str
) -> None:
    fields = {"mechanism": Binary(sigma=5.0)} | changes
    assert refusal(lambda: asked(guardian, **fields)) == code
    for site in PARTIES:
        guardian.register(site)
    asked(guardian, **fields)


def test_other_labels_are_another_manifest(guardian: Calls) -> None:
    session = asked(guardian, Binary(sigma=5.0)).session_id
    guardian.register("a", abstains=[1])
    assert refusal(lambda: guardian.ticket(session, 1, QUERIES)) == "manifest.changed"
