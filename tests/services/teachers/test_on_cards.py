"""Teachers that learn and vote on cards: what lands where, what fits, and what happens where it fails."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from structlog.testing import capture_logs

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks
from tests.fake_card import GONE, FakeCards

SHAPES = {"logistic": (8,), "mlp": (8,), "square-mlp": (8,), "cnn": (1, 8, 8), "resnet": (1, 8, 8)}
TEACHERS = 3
CLASSES = 3


def slices(shape: tuple[int, ...], *, multi_label: bool = False) -> list[Slice]:
    random = np.random.default_rng(0)
    centres = random.normal(size=(CLASSES, *shape))

    def part(teacher: int) -> Slice:
        y = random.integers(0, CLASSES, 24)
        X = (centres[y] + 0.3 * random.normal(size=(24, *shape))).astype(np.float32)
        return Slice(X, np.eye(CLASSES, dtype=np.int64)[y] if multi_label else y, (0, teacher))

    return [part(teacher) for teacher in range(TEACHERS)]


def fit(
    model: str, device: Device, *, multi_label: bool = False, **settings: object
) -> list[torch.nn.Module]:
    config = TrainingConfig.model_validate({"teachers": TEACHERS, "epochs": 2, **settings})
    given = slices(SHAPES[model], multi_label=multi_label)
    return fit_networks(given, model, CLASSES, config, lambda done, total: None, device=device)


def queries(model: str, number: int = 50) -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(size=(number, int(np.prod(SHAPES[model])))).astype(np.float32)


def assert_alike(nets: list[torch.nn.Module], others: list[torch.nn.Module]) -> None:
    for one, other in zip(nets, others, strict=True):
        for mine, its in zip(one.parameters(), other.parameters(), strict=True):
            torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_teachers_of_a_card_learn_as_those_of_the_cpu(cards: FakeCards, model: str) -> None:
    nets = fit(model, Device("cuda"), held_out=0.2, balanced=True)
    assert_alike(nets, fit(model, HOST, held_out=0.2, balanced=True))
    assert cards.most[0]
    assert not any(cards.used)


def test_several_places_learn_at_a_time(cards: FakeCards, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the two is the CPU: torch's gradients know one card of a backend in Python."""
    both = Device("cuda")
    monkeypatch.setitem(vars(both), "places", (both.first, HOST.first))
    assert_alike(fit("mlp", both, balanced=True), fit("mlp", HOST, balanced=True))
    assert cards.most[0]


@pytest.mark.parametrize("names", ["cuda", ("cuda:0", "cuda:1")])
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_teachers_on_cards_vote_as_they_do_on_the_cpu(
    cards: FakeCards, model: str, names: str | tuple[str, ...]
) -> None:
    device = Device(names)
    nets = fit(model, HOST)
    X = queries(model)
    here = Networks.of(model, SHAPES[model], nets).predict(X, VoteGuard(CLASSES))
    models = Networks.of(model, SHAPES[model], nets, device)
    assert np.array_equal(models.predict(X, VoteGuard(CLASSES)), here)
    assert all(cards.used[place.index] for place in device.places)


def test_a_card_holds_each_weight_once(cards: FakeCards) -> None:
    nets = fit("mlp", HOST)
    models = Networks.of("mlp", SHAPES["mlp"], nets, Device("cuda"))
    models.predict(queries("mlp"), VoteGuard(CLASSES))
    numbers = sum(part.numel() for net in nets for part in net.parameters())
    assert cards.used == [4 * numbers, 0]


def test_a_card_that_dies_in_training_is_no_fault_of_the_model(cards: FakeCards) -> None:
    cards.calls = 200
    with pytest.raises(OstrakaError) as refused:
        fit("mlp", Device("cuda"))
    assert refused.value.code is ErrorCode.DEVICE_MISSING


def test_a_card_that_dies_in_a_vote_votes_for_nothing_and_is_asked_again(cards: FakeCards) -> None:
    device = Device("cuda")
    models = Networks.of("cnn", SHAPES["cnn"], fit("cnn", HOST), device)
    before = models.predict(queries("cnn"), VoteGuard(CLASSES))
    cards.failure = GONE
    with pytest.raises(OstrakaError) as refused:
        models.predict(queries("cnn"), VoteGuard(CLASSES))
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert not list(device.memory())
    cards.failure = None
    assert np.array_equal(models.predict(queries("cnn"), VoteGuard(CLASSES)), before)


def test_a_card_without_room_for_the_weights_is_gone(cards: FakeCards) -> None:
    cards.others = cards.memory
    models = Networks.of("mlp", SHAPES["mlp"], fit("mlp", HOST), Device("cuda"))
    with pytest.raises(OstrakaError) as refused:
        models.predict(queries("mlp"), VoteGuard(CLASSES))
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE


def test_where_memory_is_short_fewer_teachers_learn_together_and_fewer_records_are_asked(
    cards: FakeCards,
) -> None:
    nets = fit("mlp", Device("cuda"))
    enough = cards.most[0]
    cards.memory = 2 * enough // 3
    device = Device("cuda")
    with capture_logs() as logs:
        again = fit("mlp", device)
    assert_alike(nets, again)
    assert {log["event"] for log in logs} == {"device.memory_full"}
