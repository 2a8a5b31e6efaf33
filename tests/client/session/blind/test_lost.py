"""Blind tallies that are charged and whose answers never come: asked again, and told."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.report.run_report import report
from ostraka.client.session.answers import answer_mask, read_answers
from ostraka.client.session.run_state import load_state
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, GnMax
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.guardian.sessions.outcome import encode_answered
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.client.driving import right, rows, run, run_of
from tests.client.federation import Federation, refuse
from tests.client.hooks import failing
from tests.client.session.test_blind_tally import UNANIMOUS, blind
from tests.client.tallying import ANSWERS, CHECK
from tests.guardian.federation import plan as any_plan


def failing_once(call: str, stage: int, code: ErrorCode) -> Callable[[str, int], None]:
    failed: list[int] = []

    def fail(name: str, number: int) -> None:
        if (name, number) == (call, stage) and not failed:
            failed.append(number)
            raise refuse(code)

    return fail


def statuses(federation: Federation) -> list[tuple[int, str]]:
    return [(batch.id, batch.status) for batch in load_state(run_of(federation)).batches]


def cost(mechanism: Any, answered: list[Any]) -> float:
    rdp = {order: mechanism.worst_case(order, classes=3) for order in ORDERS}
    return min(epsilon(sum(map(cost.rdp, answered)), order, 1e-5) for order, cost in rdp.items())


@pytest.mark.heavy
def test_answers_lost_after_the_charge_are_asked_again_as_far_as_the_plan_goes(
    federation: Federation,
) -> None:
    federation.parties["b"].dissents = True
    federation.guardian.on_tally = failing_once("CompareTally", ANSWERS, ErrorCode.BATCH_DEAD)
    for _ in range(2):
        result = run(federation, blind())
        assert result.stopped is not None
        assert result.stopped.code == "batch.too_large"
        assert (result.asked, result.lost, result.unasked) == (6, 4, 4)
    assert [row[2] for row in rows(federation)].count("unasked") == 4
    came = [batch for batch in load_state(run_of(federation)).batches if batch.status != "dead"]
    assert [batch.status for batch in came] == ["lost", "released", "released"]
    answered = [np.array([[query % 3 != 1] for query in batch.queries]) for batch in came]
    assert result.answered == sum(int(batch.sum()) for batch in answered[1:])
    figures = report(run_of(federation))
    assert figures["lost"] == 4
    assert figures["parties"][0]["epsilon_worst_case"] == pytest.approx(cost(UNANIMOUS, answered))


@pytest.mark.heavy
def test_a_check_whose_batch_died_is_counted_as_charged(federation: Federation) -> None:
    federation.guardian.on_tally = failing_once("OpenCheck", CHECK, ErrorCode.BATCH_DEAD)
    result = run(federation, blind())
    assert (result.answered, result.lost) == (10, 4)
    assert rows(federation) == right(10)
    answered = [np.zeros((4, 1), np.bool_), np.ones((10, 1), np.bool_)]
    assert report(run_of(federation))["parties"][0]["epsilon_worst_case"] == pytest.approx(
        cost(UNANIMOUS, answered)
    )


@pytest.mark.parametrize("labels", [1, 4, 9])
def test_what_the_guardian_says_of_a_blind_tally_is_read_as_charged(labels: int) -> None:
    plan = (
        any_plan(multi_label=True, mechanism=Binary(sigma=5.0), classes=labels) if labels > 1 else any_plan()
    )
    answered = np.eye(3, labels, dtype=np.bool_)
    reply = guardian_pb2.ReleaseReply.FromString(encode_answered(answered, plan))
    read = read_answers(reply.answers, len(answered), plan)
    assert (answer_mask(read, plan) == answered).all()


@pytest.mark.heavy
def test_without_a_check_what_was_not_released_cost_nothing(federation: Federation) -> None:
    federation.guardian.on_tally = failing_once("GarbleTally", ANSWERS, ErrorCode.BATCH_DEAD)
    result = run(federation, blind(mechanism=GnMax(sigma=5.0)))
    assert (result.answered, result.lost) == (10, 0)
    assert statuses(federation)[0] == (1, "dead")


@pytest.mark.heavy
def test_a_batch_that_died_before_its_tally_cost_nothing(federation: Federation) -> None:
    federation.guardian.on_prepare = failing(ErrorCode.BATCH_DEAD)
    assert run(federation, blind()).lost == 0
    assert statuses(federation)[0] == (1, "dead")


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("method", "lost"), [("begin_tally", 4), ("garble_tally", 4), ("compare_tally", 4), ("open_check", 4)]
)
def test_a_killed_run_asks_again(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, method: str, lost: int
) -> None:
    with monkeypatch.context() as patch:

        def kill(*_: Any) -> None:
            raise KeyboardInterrupt

        patch.setattr(GuardianPeer, method, kill)
        with pytest.raises(KeyboardInterrupt):
            run(federation, blind())
    assert statuses(federation) == [(1, "open"), (2, "open")]
    assert report(run_of(federation))["unsettled_batches"] == 2
    result = run(federation, blind())
    assert (result.answered, result.lost) == (10, lost)
    assert rows(federation) == right(10)


@pytest.mark.heavy
def test_batches_that_are_lost_again_and_again_end_the_run(federation: Federation) -> None:
    def fail(name: str, number: int) -> None:
        if name == "CompareTally" and number == ANSWERS:
            raise refuse(ErrorCode.BATCH_DEAD)

    federation.guardian.on_tally = fail
    with pytest.raises(OstrakaError) as dead:
        run(federation, blind())
    assert dead.value.code is ErrorCode.BATCH_DEAD
    assert load_state(run_of(federation)).count_lost() == 10
