"""Sessions about all or some labels of a task, from which parties abstain, through a real guardian."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import L1, Binary, Check, Mechanism, Powerset, Tau
from ostraka.common.privacy import epsilon
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.blind.querying import asked as asked_blindly
from tests.guardian.blind.querying import blind_plan
from tests.guardian.federation import PARTIES, TEACHERS, Calls, Federation, plan, refusal
from tests.guardian.training import Recording

QUERIES, VOTE = 30, 2**16
LABELS = 6
LEFT_OUT = {"a": [1, 3], "b": [2, 3], "c": [3]}
ALL: tuple[int, ...] = ()
CHECK = Check(sigma=2.0, threshold=12.0)
"""Of 30 queries about one label none passes with probability 1.5e-10."""
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


def chosen(mechanism: Mechanism, labels: tuple[int, ...], **changes: Any) -> Any:
    classes = len(labels) or LABELS
    size = {"queries": QUERIES, "batch_size": QUERIES, "classes": classes, "labels": labels}
    return plan(mechanism=mechanism, multi_label=True, **size | changes)


def voting(labels: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which parties vote on which of the labels asked about."""
    about = labels or range(LABELS)
    return np.array([[label not in LEFT_OUT[site] for label in about] for site in PARTIES])


def cast(mechanism: Mechanism, labels: tuple[int, ...]) -> NDArray[np.float64]:
    """Ballots (sites, queries, labels asked about)."""
    voted = voting(labels)
    scores = np.random.default_rng(0).random((len(PARTIES), TEACHERS, QUERIES, voted.shape[1]))
    return np.stack([mechanism.ballot.count(site, voted.shape[1]) for site in scores * voted[:, None, None]])


def released(guardian: Calls, asked: Any, votes: NDArray[np.float64], sites: tuple[str, ...]) -> Any:
    session = guardian.open(asked).session_id
    ticket = guardian.ticket(session, 1, QUERIES)
    assert tuple(one.participant.site for one in ticket.schedule) == sites
    own = votes[[PARTIES.index(site) for site in sites]]
    return guardian.answers(session, 1, guardian.vote(session, 1, own, sites))


def bits(answers: list[guardian_pb2.Answer], name: str, labels: int) -> NDArray[np.bool_]:
    packed = [np.frombuffer(getattr(answer, name), np.uint8) for answer in answers]
    return np.array([np.unpackbits(one, count=labels) for one in packed]).astype(np.bool_)


@pytest.mark.heavy
@pytest.mark.parametrize("labels", [ALL, (0, 1, 5), (1,), (0, 1, 2, 3, 5)], ids=str)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_answers_are_votes_with_noise_and_each_party_pays_for_the_labels_that_it_votes_on(
    guardian: Calls, noise: Recording, mechanism: Any, labels: tuple[int, ...]
) -> None:
    votes_on = voting(labels)
    columns = votes_on.shape[1]
    mechanism = mechanism.narrowed(columns)
    sites = tuple(site for site, on in zip(PARTIES, votes_on, strict=True) if on.any())
    votes = cast(mechanism, labels)
    answers = released(guardian, chosen(mechanism, labels), votes, sites)
    positives, n = VOTE * votes.sum(axis=0), VOTE * TEACHERS * votes_on.sum(axis=0)
    ((yes, no),) = (drawn for drawn in noise.drawn if drawn.ndim == 3)
    answered = np.broadcast_to(n > 0, positives.shape)
    if mechanism.check is not None:
        (draws,) = (drawn for drawn in noise.drawn if drawn.ndim == 2)
        answered = answered & (np.maximum(positives, n - positives) + draws >= VOTE * CHECK.threshold)
    np.testing.assert_array_equal(bits(answers, "answered_labels", columns), answered)
    decided = answered & (positives + yes > n - positives + no)
    np.testing.assert_array_equal(bits(answers, "positive_labels", columns), decided)
    assert answered.any()
    for site, on in zip(PARTIES, votes_on, strict=True):
        (budget,) = guardian.budgets(site).values()
        cost = mechanism.worst_case(budget.order, classes=int(on.sum())).rdp(answered[:, on])
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
    ("labels", "changes", "code", "told"),
    [
        (ALL, {"mechanism": Powerset(sigma=5.0)}, "plan.invalid", "mechanism powerset needs"),
        (ALL, {"tally": "blind", "ring_bits": 32}, "plan.invalid", "tally blind needs"),
        (ALL, {"classes": 3}, "task.mismatch", ""),
        ((0, 1), {"mechanism": Powerset(sigma=5.0)}, "plan.invalid", "mechanism powerset needs"),
        ((0, 1), {"tally": "blind", "ring_bits": 32}, "plan.invalid", "tally blind needs"),
        ((0, 4), {"mechanism": Powerset(sigma=5.0)}, "", ""),
        ((1,), {"mechanism": Powerset(sigma=5.0)}, "", ""),
        ((1,), {"tally": "blind", "ring_bits": 32}, "", ""),
    ],
    ids=str,
)
def test_labels_that_are_asked_for_and_lack_votes_stand_in_the_way(
    guardian: Calls, labels: tuple[int, ...], changes: dict[str, Any], code: str, told: str
) -> None:
    fields: dict[str, Any] = {"mechanism": Binary(sigma=5.0), "labels": labels} | changes
    asked = chosen(**fields)
    if code:
        assert refusal(lambda: guardian.open(asked), told) == code
        for site in PARTIES:
            guardian.register(site)
    assert guardian.open(asked).session_id


@pytest.mark.heavy
def test_a_label_needs_votes_of_the_quorum(guardian: Calls) -> None:
    asked = chosen(Binary(sigma=5.0), (0, 1, 3), queries=2 * QUERIES)
    assert refusal(lambda: guardian.open(asked.model_copy(update={"quorum": 3}))) == "quorum.lost"
    session = guardian.open(asked).session_id
    guardian.ticket(session, 1, QUERIES)
    assert refusal(lambda: guardian.ticket(session, 2, QUERIES, unavailable=["b"])) == "quorum.lost"
    guardian.ticket(session, 3, QUERIES, unavailable=["a"])


def test_other_labels_are_another_manifest(guardian: Calls) -> None:
    grant = guardian.open(chosen(Binary(sigma=5.0), ALL))
    assert [list(party.abstains) for party in grant.participants] == list(LEFT_OUT.values())
    guardian.register("a", abstains=[1])
    assert refusal(lambda: guardian.ticket(grant.session_id, 1, QUERIES)) == "quorum.lost"


@pytest.mark.heavy
def test_one_label_of_a_powerset_is_a_set_of_one(guardian: Calls, noise: Recording) -> None:
    mechanism = Powerset(sigma=3.0)
    votes = np.random.default_rng(1).multinomial(TEACHERS, [0.5, 0.5], (len(PARTIES), QUERIES))
    answers = released(guardian, chosen(mechanism, (4,)), votes.astype(np.float64), PARTIES)
    (draws,) = noise.drawn
    expected = (VOTE * votes.sum(axis=0) + draws).argmax(axis=1) == 1
    np.testing.assert_array_equal(bits(answers, "positive_labels", 1)[:, 0], expected)
    assert bits(answers, "answered_labels", 1).all()


@pytest.mark.heavy
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
        cost = mechanism.worst_case(budget.order, classes=len(labels)).rdp(passed)
        spent = calls.spent()
    np.testing.assert_array_equal(found, (votes.sum(axis=0) > 0)[passed])
    np.testing.assert_array_equal(bits(list(settled.answers), "answered_labels", len(labels)), passed)
    assert spent == pytest.approx(epsilon(cost, budget.order, budget.delta), rel=1e-6)
