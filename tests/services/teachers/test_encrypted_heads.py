"""Heads whose weights are too large for evaluation are taken smaller, and vote as before."""

import numpy as np
import pytest
import torch

from ostraka.services.teachers.encrypted_heads import MAX_WEIGHT, head_of


@pytest.mark.parametrize(("largest", "factor"), [(MAX_WEIGHT, 1.0), (2 * MAX_WEIGHT, 0.5)])
def test_no_weight_is_larger_than_evaluation_takes(largest: float, factor: float) -> None:
    affine = torch.nn.Linear(2, 2).double()
    with torch.no_grad():
        affine.weight[:] = torch.tensor([[largest, 1.0], [0.0, -2.0]])
        affine.bias[:] = 0.5
    (layer,) = head_of(torch.nn.Sequential(affine), (2,)).layers
    assert np.abs(layer.weights.toarray()).max() == MAX_WEIGHT
    assert layer.weights.toarray()[1, 1] == pytest.approx(-2.0 * factor)
    assert layer.bias == pytest.approx([0.5 * factor] * 2)
