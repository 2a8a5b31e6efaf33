from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import torch
from structlog.testing import capture_logs
from torch import Tensor, nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST
from ostraka.services.teachers import fitting
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import compose, fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.layouts.layouts import Layout, Stack, make_stack
from ostraka.services.teachers.nets import Networks
from tests.services.teachers.layouts.test_layouts import TEACHERS, noise_around_centres, weights

SHAPE = (4,)


class Small(nn.Module):
    """A device that has room for some records at a time."""

    def __init__(self, net: nn.Module, room: int) -> None:
        super().__init__()
        self._net, self._room = net, room
        self.asked: list[int] = []

    def forward(self, X: Tensor) -> Tensor:
        self.asked.append(len(X))
        if len(X) > self._room:
            raise torch.OutOfMemoryError("secret record 17")
        return self._net(X)  # type: ignore[no-any-return]


def test_prediction_goes_on_with_half_as_many_and_says_so_once() -> None:
    torch.manual_seed(0)
    net, X = compose("mlp", SHAPE, 3), noise_around_centres(SHAPE, 0, 500).X
    small = Small(net, room=40)
    models = Networks([small], SHAPE, HOST, "loop")
    with capture_logs() as logs:
        votes = models.predict(X, VoteGuard(3))
        again = models.predict(X, VoteGuard(3))
    expected = Networks([net], SHAPE, HOST, "loop").predict(X, VoteGuard(3))
    assert np.array_equal(votes, expected)
    assert np.array_equal(again, expected)
    assert small.asked[:3] == [128, 64, 32]
    # Twice as many are tried once, after 16 parts that fitted.
    assert sorted(set(small.asked[3:])) == [20, 32, 64]
    assert small.asked[3:].count(64) == 1
    assert logs == [
        {"event": "device.memory_full", "device": "cpu", "micro_batch": 64, "log_level": "warning"}
    ]


def test_a_batch_smaller_than_usual_is_halved_from_its_own_size() -> None:
    torch.manual_seed(0)
    small = Small(compose("mlp", SHAPE, 3), room=6)
    Networks([small], SHAPE, HOST, "loop").predict(noise_around_centres(SHAPE, 0, 20).X[:20], VoteGuard(3))
    assert small.asked == [20, 10, 5, 5, 5, 5]


def test_a_network_too_large_for_one_record_votes_for_nothing() -> None:
    X = noise_around_centres(SHAPE, 0, 10).X
    models = Networks([Small(compose("mlp", SHAPE, 3), room=0)], SHAPE, HOST, "loop")
    with capture_logs() as logs, pytest.raises(OstrakaError) as refused:
        models.predict(X, VoteGuard(3))
    assert refused.value.code is ErrorCode.SERVER_DEVICE_GONE
    assert [log["event"] for log in logs] == ["device.memory_full"]
    assert "secret" not in str(logs) + refused.value.message


class SmallStack:
    """A stack on a device that has room for some networks' training, a few steps long."""

    def __init__(self, inner: Stack, networks: int, room: int, steps: int) -> None:
        self._inner, self._fits, self._left = inner, networks <= room, steps

    def each(self, X: Tensor) -> Tensor:
        if not self._fits and self._left == 0:
            raise torch.OutOfMemoryError("secret record 17")
        self._left -= 1
        return self._inner.each(X)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def train_with_room(
    monkeypatch: pytest.MonkeyPatch, room: int, steps: int = 0, *, balanced: bool = False
) -> tuple[list[nn.Module], list[tuple[int, int]]]:
    """Networks trained in stacks of three and two at most, and what was told of the steps."""

    def small(layout: Layout, nets: Sequence[nn.Module]) -> Stack:
        return SmallStack(make_stack(layout, nets), len(nets), room, steps)

    monkeypatch.setattr(fitting, "make_stack", small)
    told: list[tuple[int, int]] = []
    slices = [noise_around_centres(SHAPE, teacher) for teacher in range(TEACHERS)]
    for part in slices:
        part.y[: part.entropy[1]] = 0
    config = TrainingConfig(teachers=TEACHERS, epochs=8, balanced=balanced)
    nets = fit_networks(slices, "mlp", 3, config, lambda *done: told.append(done), layout="products")
    return nets, told


@pytest.mark.parametrize("balanced", [False, True])
@pytest.mark.parametrize("steps", [0, 5])
def test_training_goes_on_with_half_of_the_networks(
    monkeypatch: pytest.MonkeyPatch, steps: int, balanced: bool
) -> None:
    expected, _ = train_with_room(monkeypatch, TEACHERS, balanced=balanced)
    with capture_logs() as logs:
        nets, told = train_with_room(monkeypatch, 1, steps, balanced=balanced)
    for one, other in zip(nets, expected, strict=True):
        np.testing.assert_allclose(weights(one), weights(other), atol=1e-4)
    assert {log["event"] for log in logs} == {"device.memory_full"}
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert told[-1][0] == told[-1][1]


def test_a_network_too_large_to_train_alone_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with capture_logs(), pytest.raises(OstrakaError) as refused:
        train_with_room(monkeypatch, 0)
    assert refused.value.code is ErrorCode.DEVICE_FULL
    assert "memory of cpu is full" in refused.value.message
    assert "secret" not in refused.value.message
