"""A party that serves on a card: memory that runs out, a card that dies, two parties on one, none at all."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from structlog.testing import capture_logs

from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import single_label
from ostraka.common.task import infer_task, write_task
from ostraka.services.journal.journal import Journal
from ostraka.services.serving.server import running
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.fake_card import GONE, FakeCards
from tests.services.wire import TEACHERS, Caller, Federation, federation

DIES_AFTER = 2
"""Operations of a batch that the card does before it is lost."""
ROOM = 2**15
"""Bytes in which teachers vote on ten records and not on forty, whose first layer alone gives 30 KB."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with task.toml and teachers that are networks."""
    folder = tmp_path_factory.mktemp("networks")
    task = infer_task(digits(), "networks")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, model="mlp", epochs=1)
    train(digits(), task, config, seed=1).save(folder / "teachers")
    return folder


@pytest.fixture
def attica(tmp_path: Path, trained: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained) as made:
        made.set_table("party", device="cuda")
        yield made


@pytest.fixture
def caller(attica: Federation, cards: FakeCards) -> Iterator[Caller]:
    with attica.serving() as made:
        yield made


def queries(attica: Federation) -> NDArray[np.float32]:
    return attica.task.prepare(digits().X[:40])


def charged(attica: Federation) -> float:
    with Journal(attica.party / "journal.db") as journal:
        return journal.amount_spent(8.0)


def require_right(attica: Federation, caller: Caller, X: NDArray[np.float32]) -> None:
    """Ask for the votes on a batch, and again: they are the CPU's, sent and charged once."""
    votes = Ensemble.load(attica.party / "teachers").predict(X)
    ask = caller.ask(X)
    assert np.array_equal(caller.ballots(caller.vote(ask)), single_label(votes, attica.plan.classes))
    once = charged(attica)
    assert once > 0
    caller.vote(ask)
    assert charged(attica) == once


def test_a_batch_whose_memory_runs_out_is_voted_on_in_parts(
    attica: Federation, caller: Caller, cards: FakeCards
) -> None:
    X = queries(attica)
    cards.memory = cards.used[0] + ROOM
    with capture_logs() as logs:
        require_right(attica, caller, X)
    assert [log["event"] for log in logs].count("device.memory_full") == 1
    assert len(attica.guardian.submissions) == 1


@pytest.mark.parametrize("befalls", [{"calls": DIES_AFTER}, {"failure": GONE}])
def test_a_card_that_is_lost_in_a_batch_costs_nothing_and_the_batch_is_asked_again(
    attica: Federation, caller: Caller, cards: FakeCards, befalls: dict[str, object]
) -> None:
    X = queries(attica)
    vars(cards).update(befalls)
    with pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(X))
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert cards.failure == GONE
    assert not attica.guardian.submissions
    assert charged(attica) == 0
    cards.failure = None
    require_right(attica, caller, X)


def test_two_parties_on_one_card_share_its_memory_and_the_second_says_where_there_is_none(
    attica: Federation, caller: Caller, cards: FakeCards, tmp_path: Path, trained: Path
) -> None:
    held = cards.used[0]
    (tmp_path / "second").mkdir()
    with federation(tmp_path / "second", trained) as other:
        other.set_table("party", device="cuda")
        with other.serving() as second:
            assert cards.used[0] == 2 * held
            require_right(other, second, queries(other))
        cards.memory = cards.used[0] + held // 2
        with pytest.raises(OstrakaError) as refused, other.serving():
            pass
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    # The first is not disturbed.
    require_right(attica, caller, queries(attica))


def test_a_party_whose_device_is_not_there_opens_nothing(attica: Federation, cards: FakeCards) -> None:
    cards.there = False
    with ExitStack() as stack, pytest.raises(OstrakaError) as refused:
        stack.enter_context(running(attica.party, stop=attica.stop))
    assert refused.value.code is ErrorCode.DEVICE_MISSING
    assert "The device cuda cannot be used: torch finds no cards" in refused.value.message
    assert not attica.guardian.manifests
    assert not (attica.party / "journal.db").exists()
