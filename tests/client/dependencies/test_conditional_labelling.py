"""Parents are asked first, children where they may be present; nothing is asked twice, whatever happens."""

from collections import Counter
from typing import Any

import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.run.combined import is_combined, load_combined
from ostraka.client.run.dependency_rules import Dependencies
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.session.run_state import RunStore, load_state
from ostraka.client.session.session import SessionDriver
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, Tau
from ostraka.protos.ostraka.v1.guardian_pb2 import Answer, OpenBatchRequest, PrepareRequest
from tests.client.dependencies.clinic import BINARY, RULES, ask, rule, table, whole
from tests.client.driving import options, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.test_resuming import interrupted_once

PARENTS, CATS = "parents", "after-bee"


def asked(federation: Federation, part: str) -> list[int]:
    state = load_state(run_of(federation) / part)
    return [row for batch in state.batches if batch.status == "released" for row in batch.queries]


@pytest.mark.heavy
def test_children_are_asked_only_where_the_parent_is_present(several: Federation) -> None:
    result = ask(several)
    assert table(several) == [whole(row) for row in range(10)]
    assert (result.queries, result.asked, result.answered) == (10, 10, 10)
    assert (result.implied, result.partly, result.stopped) == (4, 0, None)
    assert sorted(asked(several, PARENTS)) == list(range(10))
    assert sorted(asked(several, CATS)) == [1, 2, 4, 5, 7, 8]
    assert len(several.guardian.closed) == 2


@pytest.mark.heavy
def test_children_are_asked_before_further_parents(several: Federation) -> None:
    several.write_pool([1.0] * 10)
    ask(several)
    order = [(request.session_id, request.size) for request in several.guardian.opened]
    assert order == [("s0", 4), ("s1", 4), ("s0", 4), ("s1", 4), ("s0", 2), ("s1", 2)]


@pytest.mark.heavy
def test_children_of_a_dead_batch_are_asked_among_others(several: Federation) -> None:
    def die(request: PrepareRequest) -> None:
        if (request.session_id, request.batch_id) == ("s1", 1):
            raise refuse(ErrorCode.BATCH_DEAD)

    several.write_pool([1.0] * 10)
    several.guardian.on_prepare = die
    ask(several)
    order = [(request.session_id, request.size) for request in several.guardian.opened]
    assert order == [*[("s0", 4), ("s1", 4)] * 2, ("s0", 2), ("s1", 4), ("s1", 2)]
    assert sorted(asked(several, CATS)) == list(range(10))


def test_a_parent_without_an_answer_implies_nothing(several: Federation) -> None:
    several.parties["b"].dissents = True
    several.write_pool([0.5, 0.0])
    several.guardian.alter_answers = lambda answers: [
        Answer(answered=True, answered_labels=b"\x80", positive_labels=b"\x80") if len(answers) == 2 else one
        for one in answers
    ]
    result = ask(several)
    assert sorted(asked(several, CATS)) == [0, 1]
    assert result.implied == 0
    assert table(several)[1][2] == ""


def test_a_query_without_any_answer_is_an_abstention(several: Federation) -> None:
    several.guardian.alter_answers = lambda answers: [Answer()] * len(answers)
    result = ask(several, queries=4)
    assert (result.asked, result.answered, result.abstained) == (4, 0, 4)
    assert [row[4] for row in table(several)] == ["abstained"] * 4 + ["unasked"] * 6


@pytest.mark.heavy
def test_a_budget_that_runs_out_leaves_whole_queries(several: Federation) -> None:
    def spent(request: OpenBatchRequest) -> None:
        if len(several.guardian.opened) == 3:
            raise refuse(ErrorCode.BUDGET_TOO_SMALL, fits="0")

    several.write_pool([1.0] * 10)
    several.guardian.on_batch = spent
    result = ask(several)
    assert result.stopped is not None
    assert result.stopped.code == "budget.too_small"
    assert (result.asked, result.answered, result.partly) == (4, 4, 4)
    told = Counter(row[4] for row in table(several))
    assert told == {"answered": 4, "partly": 4, "unasked": 2}
    several.guardian.on_batch = lambda _: None
    assert ask(several).stopped is None
    assert {row[1:5] for row in table(several)} == {("1", "1", "1", "answered")}


STEPS = [
    (RunStore, "create"),
    (RunStore, "begin"),
    (GuardianPeer, "open_session"),
    (GuardianPeer, "open_batch"),
    (GuardianPeer, "prepare"),
    (GuardianPeer, "release"),
    (RunStore, "record_answers"),
    (SessionDriver, "advance"),
    (GuardianPeer, "close_session"),
    (RunStore, "close"),
]


@pytest.mark.heavy
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("owner", "method"), STEPS, ids=[method for _, method in STEPS])
def test_an_interruption_at_any_step_loses_and_repeats_nothing(
    several: Federation, monkeypatch: pytest.MonkeyPatch, owner: Any, method: str, after: bool
) -> None:
    interrupted_once(monkeypatch, owner, method, after=after)
    with pytest.raises(KeyboardInterrupt):
        ask(several)
    ask(several)
    assert table(several) == [whole(row) for row in range(10)]
    assert len(several.guardian.plans) == 2
    assert sorted(asked(several, PARENTS)) == list(range(10))
    assert sorted(asked(several, CATS)) == [1, 2, 4, 5, 7, 8]
    assert sum(len(answers) for answers in several.guardian.answers.values()) == 16


def test_a_finished_run_asks_nobody_again(several: Federation) -> None:
    ask(several)
    opened = len(several.guardian.opened)
    several.stop("guardian")
    assert ask(several).answered == 10
    assert len(several.guardian.opened) == opened


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [Tau(sigma=5.0, tau=1.4), L1(sigma=5.0, tau1=2.0)])
def test_a_radius_that_clips_nothing_of_few_labels_is_lowered(several: Federation, mechanism: Any) -> None:
    ask(several, mechanism=mechanism)
    assert load_combined(run_of(several)).implied.keys() == {0, 3, 6, 9}
    assert load_state(run_of(several) / CATS).parse_plan().classes == 1


@pytest.mark.heavy
def test_several_parents_each_have_a_run(several: Federation) -> None:
    rules = Dependencies(task="insects", dependencies=(rule("ant", "bee"), rule("ant", "cat")))
    result = ask(several, rules)
    assert result.implied == 0
    assert sorted(asked(several, "after-ant")) == list(range(10))
    assert [row[1:4] for row in table(several)[:3]] == [("1", "0", "0"), ("1", "1", "0"), ("1", "1", "1")]


@pytest.mark.heavy
def test_other_dependencies_do_not_go_on(several: Federation) -> None:
    ask(several)
    other = Dependencies(task="insects", dependencies=(rule("ant", "cat"),))
    with pytest.raises(OstrakaError, match="with others") as refused:
        ask(several, other)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert table(several) == [whole(row) for row in range(10)]


def test_a_run_of_all_labels_is_not_gone_on_with(several: Federation) -> None:
    run(several, options(mechanism=BINARY))
    with pytest.raises(OstrakaError, match="without dependencies") as refused:
        ask(several)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert not is_combined(run_of(several))


@pytest.mark.heavy
def test_a_run_with_dependencies_is_not_gone_on_with_without(several: Federation) -> None:
    ask(several)
    with pytest.raises(OstrakaError, match="dependencies") as refused:
        run(several, options(mechanism=BINARY))
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_one_process_at_a_time(several: Federation) -> None:
    with hold_folder(run_of(several)), pytest.raises(OstrakaError, match="Another process"):
        ask(several)


def test_another_task_is_refused_before_anything_is_made(several: Federation) -> None:
    with pytest.raises(OstrakaError) as refused:
        ask(several, RULES.model_copy(update={"task": "birds"}))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
    assert not run_of(several).exists()


def test_presence_implies_too_and_what_is_implied_decides_what_is_asked_next(several: Federation) -> None:
    """Whoever is a cat is a bee, and whoever is no bee is no ant: cats are asked of all, ants of few."""
    tree = Dependencies(task="insects", dependencies=(rule("bee", "ant"), rule("cat", "bee", "presence")))
    result = ask(several, tree, queries=6)
    assert sorted(asked(several, PARENTS)) == list(range(6))
    assert sorted(asked(several, "unless-cat")) == [0, 1, 3, 4]
    assert sorted(asked(several, "after-bee")) == [1, 2, 4, 5]
    assert result.implied == 4
    assert [row[1:] for row in table(several)[:3]] == [
        ("0", "0", "0", "implied", "ant"),
        ("1", "1", "0", "answered", ""),
        ("1", "1", "1", "implied", "bee"),
    ]
    assert load_combined(run_of(several)).implied == {0: (0,), 2: (1,), 3: (0,), 5: (1,)}
