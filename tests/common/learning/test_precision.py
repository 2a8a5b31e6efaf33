"""Logits that keep their precision where the layers before them do not."""

import pytest
import torch
from torch import nn

from ostraka.common.learning.device import Device
from ostraka.common.learning.precision import LogitLayer, low_precision
from ostraka.services.teachers.config import NETWORKS
from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.layouts.layouts import Layout, make_stack
from tests.fake_card import FakeCards

LOW = torch.autocast("cpu", torch.bfloat16)


def test_a_last_layer_does_not_round() -> None:
    torch.manual_seed(0)
    layer = LogitLayer(64, 10)
    X = torch.randn(500, 64)
    expected = layer(X)
    with LOW:
        assert nn.functional.linear(X, layer.weight, layer.bias).dtype == torch.bfloat16
        assert torch.equal(layer(X), expected)
    assert layer.double()(X.double()).dtype == torch.float64


@pytest.mark.parametrize("layout", ["loop", "stacked", "products", "grouped"])
@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_logits_are_of_float32_in_every_layout(model: str, layout: Layout) -> None:
    torch.manual_seed(0)
    nets = [compose(model, (8, 8), 3) for _ in range(1 if layout == "loop" else 2)]
    stack = make_stack(layout, nets)
    X = torch.randn(20, 8, 8)
    with torch.inference_mode():
        expected = stack.all(X)
        with LOW:
            logits = stack.all(X)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(logits, expected, rtol=0.05, atol=0.05)
    # Numbers of bfloat16 have 8 bits: logits that were rounded would all be among them.
    assert not torch.equal(logits.bfloat16().float(), logits)


@pytest.mark.parametrize("model", NETWORKS)
def test_every_built_in_network_may_compute_in_bfloat16_and_no_other(cards: FakeCards, model: str) -> None:
    net, place = compose(model, (8, 8), 3), Device("cuda").first
    for lowered in (False, True):
        cards.bfloat16 = lowered
        with low_precision(net, place):
            assert torch.is_autocast_enabled(place.type) == lowered
    with low_precision(nn.Sequential(nn.Linear(8, 3), nn.Tanh()), place):
        assert not torch.is_autocast_enabled(place.type)
