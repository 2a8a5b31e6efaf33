"""A party whose teachers know one consent level each: who votes, with what weight, at whose cost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import digits, from_arrays, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import NoiseCluster
from ostraka.common.sharing.ballots import VOTE, single_label
from ostraka.common.task import infer_task, write_task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.services.wire import Ask, Caller, Federation, federation, scheduled
from tests.services.wire import participant as one_cohort

LOW, HIGH = 2, 3
"""Teachers of each level."""


@pytest.fixture(scope="session")
def trained_apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with task.toml, records of two levels and teachers of each."""
    folder = tmp_path_factory.mktemp("apart")
    levels = np.where(np.arange(len(digits())) % 5 < LOW, "low", "high")
    data = replace(digits(), consent=tuple(levels.tolist()))
    task = infer_task(data, "digits")
    write_task(task, folder / "task.toml")
    save(data, folder / "records.npz")
    config = TrainingConfig(
        teachers=LOW + HIGH, model="logistic_regression", variant="weighting", consent={"low": 1, "high": 2}
    )
    train(data, task, config, seed=1).save(folder / "teachers")
    return folder


@pytest.fixture
def attica(tmp_path: Path, trained_apart: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained_apart) as made:
        made.replan(variant="weighting")
        yield made


def athens(**changes: Any) -> common_pb2.Participant:
    """Return the party as a guardian knows it, groups in the order that the ensemble has them."""
    high = {"groups": ["high"], "teachers": HIGH, "weight": VOTE, "copies": [1]} | changes
    low = common_pb2.Cohort(groups=["low"], teachers=LOW, weight=VOTE, copies=[1])
    return common_pb2.Participant(
        site="athens",
        teachers=LOW + HIGH,
        max_votes_per_person=1,
        cohorts=[common_pb2.Cohort(**high), low],
    )


def ask(caller: Caller, X: NDArray[np.float32], who: common_pb2.Participant, *bits: bytes) -> Ask:
    everyone = [who, one_cohort("sparta"), one_cohort("thebes")]
    ticket = caller.ticket(1, len(X), schedule=[scheduled(who, *bits)])
    return replace(caller.ask(X), grant=caller.grant(participants=everyone), ticket=ticket)


def queries(federation: Federation, count: int = 9) -> NDArray[np.float32]:
    return federation.task.prepare(digits().X[:count])


def counts(federation: Federation, X: NDArray[np.float32], group: str) -> NDArray[Any]:
    ensemble = Ensemble.load(federation.party / "teachers")
    (rows,) = (cohort.rows for cohort in ensemble.manifest.cohorts if cohort.groups == (group,))
    return single_label(ensemble.predict(X, rows), 10)


def test_the_manifest_names_both_groups(attica: Federation) -> None:
    with attica.serving():
        manifest = common_pb2.Manifest.FromString(attica.guardian.manifests[0].payload)
    named = [(group.name, group.teachers, group.copies) for group in manifest.groups]
    assert named == [("high", HIGH, 1), ("low", LOW, 1)]
    assert not manifest.mixed


def test_each_cohort_votes_on_its_queries_with_its_weight_at_its_groups_cost(attica: Federation) -> None:
    X, votes = queries(attica), np.arange(9) % 2 == 0
    with attica.serving() as caller:
        asked = ask(caller, X, athens(weight=3 * VOTE // 2), b"", np.packbits(votes).tobytes())
        found = caller.ballots(caller.vote(asked))
        assert caller.vote(asked) == caller.vote(asked)
    expected = 1.5 * counts(attica, X, "high") + counts(attica, X, "low") * votes[:, None]
    assert np.array_equal(found, expected)
    mechanism = attica.plan.mechanism
    with Journal(attica.party / "journal.db") as journal:
        assert {charge for _, _, charge in journal.receipts()} == {
            GroupCharge(mechanism, 9, 10, sensitivity=1.5, group="high"),
            GroupCharge(mechanism, 5, 10, sensitivity=1.0, group="low"),
        }
        assert journal.amount_spent(8.0) == GroupCharge(mechanism, 9, 10, sensitivity=1.5).amount(8.0)


def test_a_cohort_that_is_left_out_votes_on_nothing_and_pays_nothing(attica: Federation) -> None:
    X = queries(attica)
    with attica.serving() as caller:
        found = caller.ballots(caller.vote(ask(caller, X, athens(), bytes(2), b"")))
    assert np.array_equal(found, counts(attica, X, "low"))
    with Journal(attica.party / "journal.db") as journal:
        assert [charge.group for _, _, charge in journal.receipts()] == ["low"]


def test_records_of_a_group_that_is_left_out_are_not_counted(attica: Federation) -> None:
    attica.set_policy(label_counts="record")
    attica.set_table("training", data="records.npz")
    attica.replan(mechanism=NoiseCluster(sigma=20.0), queries=1, batch_size=1, variant="none")
    with attica.serving() as caller:
        found = caller.ballots(caller.vote(ask(caller, queries(attica, 1), athens(), bytes(1), b"")))
    ensemble = Ensemble.load(attica.party / "teachers")
    assert found.sum() == {group.name: group.records for group in ensemble.manifest.groups}["low"]


def test_records_whose_levels_changed_are_not_counted(attica: Federation) -> None:
    attica.set_policy(label_counts="record")
    attica.set_table("training", data="records.npz")
    X, y = digits().X, digits().y
    save(from_arrays(X, y, consent=np.full(len(X), "low")), attica.party / "records.npz")
    with pytest.raises(OstrakaError, match="levels of consent differ") as refused, attica.serving():
        pass
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": ["medium"]},
        {"groups": ["high", "medium"], "copies": [1, 1]},
        {"teachers": HIGH + 1},
        {"copies": [2]},
        {"weight": 0},
        {"weight": 1 + (LOW + HIGH + 6) * VOTE // HIGH},
    ],
    ids=["group", "groups", "teachers", "copies", "nothing", "more than everybody"],
)
def test_a_ticket_for_other_cohorts_or_odd_weights_is_refused(
    attica: Federation, changes: dict[str, Any]
) -> None:
    with attica.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(ask(caller, queries(attica), athens(**changes)))
    assert refused.value.code is ErrorCode.TICKET_INVALID
    assert not attica.guardian.submissions


@pytest.mark.parametrize("variant", ["none", "vanishing"])
def test_votes_weigh_one_unless_the_plan_says_weighting(attica: Federation, variant: str) -> None:
    attica.replan(variant=variant)
    with attica.serving() as caller:
        with pytest.raises(OstrakaError) as refused:
            caller.vote(ask(caller, queries(attica), athens(weight=VOTE - 1)))
        assert refused.value.code is ErrorCode.TICKET_INVALID
        caller.vote(ask(caller, queries(attica), athens()))
