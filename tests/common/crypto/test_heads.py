"""Descriptions of models."""

import numpy as np
import pytest

from ostraka.common.crypto.heads import Affine, EncryptedHead
from tests.common.crypto.models import affine


def test_plain_logits() -> None:
    head = EncryptedHead(
        (
            affine(np.array([[1.0, 2.0]]), np.array([1.0])),
            affine(np.array([[2.0], [0.0]]), np.array([0.0, 5.0])),
        )
    )
    assert (head.inputs, head.outputs) == (2, 2)
    assert (head.plain(np.array([[1.0, 1.0], [0.0, -1.0]])) == [[32.0, 5.0], [2.0, 5.0]]).all()


def test_what_does_not_fit_together() -> None:
    first = affine(np.ones((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match="as many biases as outputs"):
        affine(np.ones((2, 3)), np.zeros(3))
    with pytest.raises(ValueError, match="finite"):
        affine(np.ones((2, 3)), np.array([0.0, np.nan]))
    with pytest.raises(ValueError, match="takes what the one before it gives"):
        EncryptedHead((first, first))
    with pytest.raises(ValueError, match="at least one layer"):
        EncryptedHead(())


def test_weights_are_not_shown() -> None:
    layer: Affine = affine(np.full((1, 1), 0.123456), np.array([0.654321]))
    assert "123456" not in repr(EncryptedHead((layer,))) + repr(layer)
    assert "654321" not in repr(EncryptedHead((layer,))) + repr(layer)
