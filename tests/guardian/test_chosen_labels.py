"""Sessions about some labels of a task, through a real guardian: answers, parties left out, charges."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from common.mechanism import L1, AnyMechanism, Binary, Check, Powerset, Tau
from common.mechanism.narrowing import narrowed
from common.privacy import epsilon, worst_case
from common.sharing.ballots import ballots
from protos.ostraka.v1 import guardian_pb2
from tests.guardian.blind.querying import asked as asked_blindly
from tests.guardian.blind.querying import blind_plan
from tests.guardian.federation import PARTIES, TEACHERS, Calls, Federation, plan, refusal
from tests.guardian.training import Recording

QUERIES, VOTE = 30, 2**16
LEFT_OUT = {"a": [1, 3], "b": [2], "c": []}
"""Of the labels 0 to 5 of the task."""
CHECK = Check(sigma=2.0, threshold=14.0)
MECHANISMS = [
    Binary(sigma=5.0),
    Binary(sigma=5.0, check=CHECK),
    Tau(sigma=4.0, tau=1.4),
    L1(sigma=4.0, tau1=2.0, check=CHECK),
]


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


def chosen(mechanism: AnyMechanism, labels: tuple[int, ...], **changes: Any) -> Any:
    size = {"queries": QUERIES, "batch_size": QUERIES, "classes": len(labels), "labels": labels}
    return plan(mechanism=mechanism, multi_label=True, **size | changes)


def voting(labels: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which parties vote on which of the chosen labels."""
    return np.array([[label not in LEFT_OUT[site] for label in labels] for site in PARTIES])


def cast(mechanism: AnyMechanism, labels: tuple[int, ...]) -> NDArray[np.float64]:
    """Ballots (sites, queries, chosen labels)."""
    scores = np.random.default_rng(0).random((len(PARTIES), TEACHERS, QUERIES, len(labels)))
    own = scores * voting(labels)[:, None, None]
    return np.stack([ballots(site, mechanism, len(labels)) for site in own])


def released(guardian: Calls, asked: Any, votes: NDArray[np.float64], sites: tuple[str, ...]) -> Any:
    session = guardian.open(asked).session_id
    ticket = guardian.ticket(session, 1, QUERIES)
    assert tuple(one.participant.site for one in ticket.schedule) == sites
    own = votes[[PARTIES.index(site) for site in sites]]
    return guardian.answers(session, 1, guardian.vote(session, 1, own, sites))


def bits(answers: list[guardian_pb2.Answer], name: str, labels: int) -> NDArray[np.bool_]:
    packed = [np.frombuffer(getattr(answer, name), np.uint8) for answer in answers]
    return np.array([np.unpackbits(one, count=labels) for one in packed]).astype(np.bool_)


@pytest.mark.parametrize("labels", [(0, 1, 5), (1,), (0, 1, 2, 5)], ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_each_party_pays_for_the_chosen_labels_that_it_votes_on(
    guardian: Calls, noise: Recording, mechanism: Any, labels: tuple[int, ...]
) -> None:
    mechanism, votes_on = narrowed(mechanism, len(labels)), voting(labels)
    sites = tuple(site for site, on in zip(PARTIES, votes_on, strict=True) if on.any())
    votes = cast(mechanism, labels)
    answers = released(guardian, chosen(mechanism, labels), votes, sites)
    positives, n = VOTE * votes.sum(axis=0), VOTE * TEACHERS * votes_on.sum(axis=0)
    ((yes, no),) = (drawn for drawn in noise.drawn if drawn.ndim == 3)
    answered = np.ones(positives.shape, dtype=np.bool_)
    if mechanism.check is not None:
        (draws,) = (drawn for drawn in noise.drawn if drawn.ndim == 2)
        answered = np.maximum(positives, n - positives) + draws >= VOTE * CHECK.threshold
    np.testing.assert_array_equal(bits(answers, "answered_labels", len(labels)), answered)
    decided = answered & (positives + yes > n - positives + no)
    np.testing.assert_array_equal(bits(answers, "positive_labels", len(labels)), decided)
    for site, on in zip(PARTIES, votes_on, strict=True):
        (budget,) = guardian.budgets(site).values()
        cost = worst_case(mechanism, budget.order, classes=int(on.sum())).rdp(answered[:, on])
        paid = epsilon(cost, budget.order, budget.delta) if on.any() else 0.0
        assert guardian.spent(site) == pytest.approx(paid, rel=1e-6)


def test_a_party_that_abstains_from_all_chosen_labels_is_planned_without(guardian: Calls) -> None:
    asked = chosen(Binary(sigma=5.0), (1, 3))
    reply = guardian.query.Plan(guardian_pb2.PlanRequest(plan=asked.serialize()))
    costs = {party.site: party for party in reply.parties}
    assert costs["a"].epsilon < costs["b"].epsilon == costs["c"].epsilon
    assert costs["a"].fits == 2**32 - 1
    assert reply.voters == 2 * TEACHERS
    assert refusal(lambda: guardian.open(asked.model_copy(update={"quorum": 3}))) == "quorum.lost"


@pytest.mark.parametrize(
    ("labels", "changes", "code"),
    [
        ((0, 1), {"mechanism": Powerset(sigma=5.0)}, "plan.invalid"),
        ((0, 1), {"tally": "blind", "ring_bits": 32}, "plan.invalid"),
        ((0, 4), {"mechanism": Powerset(sigma=5.0)}, ""),
        ((1,), {"mechanism": Powerset(sigma=5.0)}, ""),
        ((1,), {"tally": "blind", "ring_bits": 32}, ""),
    ],
    ids=str,
)
def test_only_labels_that_are_asked_for_stand_in_the_way(
    guardian: Calls, labels: tuple[int, ...], changes: dict[str, Any], code: str
) -> None:
    fields: dict[str, Any] = {"mechanism": Binary(sigma=5.0), "labels": labels} | changes
    asked = chosen(**fields)
    if code:
        assert refusal(lambda: guardian.open(asked)) == code
    else:
        assert guardian.open(asked).session_id


def test_one_label_of_a_powerset_is_a_set_of_one(guardian: Calls, noise: Recording) -> None:
    mechanism = Powerset(sigma=3.0)
    votes = np.random.default_rng(1).multinomial(TEACHERS, [0.5, 0.5], (len(PARTIES), QUERIES))
    answers = released(guardian, chosen(mechanism, (4,)), votes.astype(np.float64), PARTIES)
    (draws,) = noise.drawn
    expected = (VOTE * votes.sum(axis=0) + draws).argmax(axis=1) == 1
    np.testing.assert_array_equal(bits(answers, "positive_labels", 1)[:, 0], expected)
    assert bits(answers, "answered_labels", 1).all()


@pytest.mark.parametrize("mechanism", [Binary(sigma=3.0), Binary(sigma=3.0, check=CHECK)], ids=str)
@pytest.mark.parametrize("labels", [(0, 5), (2,)], ids=str)
def test_chosen_labels_are_tallied_blindly(
    tmp_path: Path, mechanism: Binary, labels: tuple[int, ...]
) -> None:
    votes = np.full((len(PARTIES), QUERIES, len(labels)), TEACHERS)
    votes[:, ::2] = 0
    asked = blind_plan(
        mechanism=mechanism,
        multi_label=True,
        classes=len(labels),
        labels=labels,
        queries=QUERIES,
        batch_size=QUERIES,
    )
    with Federation(tmp_path).guardian() as calls:
        calls.prepare_all(1e6)
        querying = asked_blindly(calls, asked, votes)
        everything = np.ones((QUERIES, len(labels)), dtype=np.bool_)
        passed = everything if mechanism.check is None else querying.check()
        found = querying.answers(passed)
        settled = calls.settle(querying.session, 1)
        (budget,) = calls.budgets("a").values()
        cost = worst_case(mechanism, budget.order, classes=len(labels)).rdp(passed)
        spent = calls.spent()
    np.testing.assert_array_equal(found, (votes.sum(axis=0) > 0)[passed])
    np.testing.assert_array_equal(bits(list(settled.answers), "answered_labels", len(labels)), passed)
    assert spent == pytest.approx(epsilon(cost, budget.order, budget.delta), rel=1e-6)
