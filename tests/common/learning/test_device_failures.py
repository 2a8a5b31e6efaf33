"""What is said where a device fails, and nothing else is to blame."""

import numpy as np
import pytest
from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.device_failures import device_failures
from ostraka.common.learning.encoders import Encoder
from tests.fake_card import GONE, FakeCards

X = np.ones((5, 16), np.float32)


def test_an_encoder_on_a_device_that_is_gone_or_full_is_not_to_blame(cards: FakeCards) -> None:
    device = Device("cuda")
    encoder = Encoder("m:f", nn.Linear(16, 4), device)
    before = encoder.encode(X)
    uses = (lambda: encoder.encode(X), lambda: Encoder("m:f", nn.Linear(16, 4), device))
    for use in uses:
        cards.failure = GONE
        with pytest.raises(OstrakaError, match="card:0 cannot be used") as refused:
            use()
        assert refused.value.code is ErrorCode.DEVICE_MISSING
        cards.failure = None
        cards.others = cards.memory
        with pytest.raises(OstrakaError, match="memory of card:0 is full") as refused:
            use()
        assert refused.value.code is ErrorCode.DEVICE_FULL
        cards.others = 0
    np.testing.assert_allclose(encoder.encode(X), before, rtol=1e-5)


@pytest.mark.parametrize("raised", [ValueError("m"), OstrakaError(ErrorCode.MODEL_INVALID, "Refused.")])
def test_what_a_model_raises_on_a_device_that_works_stays_as_it_is(raised: Exception) -> None:
    with pytest.raises(type(raised)) as found, device_failures(Device()):
        raise raised
    assert found.value is raised
