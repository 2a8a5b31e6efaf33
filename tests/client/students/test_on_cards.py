"""Students on a card that is gone, or whose memory is short."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ostraka.client.students.dp_sgd.student import DpSgd
from ostraka.client.students.label_dp.simclr import embed
from ostraka.client.students.neural import Neural
from ostraka.client.students.supervised import Supervised
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.fake_card import FakeCards

X = np.random.default_rng(0).normal(size=(40, 16)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def student(made: Neural) -> Callable[[], object]:
    made.learning = replace(made.defaults("cuda"), steps=20)
    return lambda: made.fit(X, Y)


@pytest.fixture
def uses(cards: FakeCards) -> dict[str, Callable[[], object]]:
    """Return everything of a querying party that computes on a card."""
    return {
        "supervised": student(Supervised()),
        "dp-sgd": student(DpSgd(classes=2, epsilon=1.0, delta=1e-3)),
        "simclr": lambda: embed(X, (16,), steps=3, device="cuda"),
    }


USES = ("supervised", pytest.param("dp-sgd", marks=pytest.mark.heavy), "simclr")


@pytest.mark.parametrize("use", USES)
def test_a_device_that_is_gone_or_full_is_named(
    uses: dict[str, Callable[[], object]], cards: FakeCards, use: str
) -> None:
    cards.calls = 1
    with pytest.raises(OstrakaError, match="card:0 cannot be used") as refused:
        uses[use]()
    assert refused.value.code is ErrorCode.DEVICE_MISSING
    cards.failure = None
    cards.others = cards.memory
    with pytest.raises(OstrakaError, match="memory of card:0 is full") as refused:
        uses[use]()
    assert refused.value.code is ErrorCode.DEVICE_FULL
    cards.others = 0
    uses[use]()
