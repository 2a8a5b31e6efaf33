import numpy as np
import pytest
import torch

from benchmarks.confidential.squares import HIDDEN, measure, square_32
from ostraka.common.crypto.logits import Head
from tests.common.crypto.models import random_head


@pytest.mark.parametrize("kind", ["square", pytest.param("square-mlp", marks=pytest.mark.heavy)])
def test_a_batch_is_measured_and_right(kind: Head) -> None:
    random = np.random.default_rng(0)
    X = random.uniform(0, 1, (20, 3))
    found = measure(kind, [random_head(random, (3, 4, 2), X) for _ in range(2)], X.astype(np.float32))
    assert (found.features, found.queries, found.teachers) == (3, 20, 2)
    assert found.error_bits < -10
    assert min(found.sent, found.sent_by_a_teacher, found.evaluate_ms_a_teacher) > 0
    assert f"{kind} " in found.sentence


def test_the_network_squares_so_many_units() -> None:
    net = square_32((5,), 3)
    assert next(tuple(part.shape) for part in net.parameters()) == (HIDDEN, 5)
    assert net(torch.zeros(2, 5)).shape == (2, 3)
