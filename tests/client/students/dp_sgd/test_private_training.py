"""An audit of the training: what one record can do to the weights, beside what was promised to it.

One class of data differs from the other in one record. An epsilon that the weights show is a lower bound of
the true one, with a confidence of 1 - 1e-9 (Clopper and Pearson 1934; Jagielski et al. 2020).
"""

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy import stats
from torch import Tensor, nn

from ostraka.client.students.dp_sgd.guarantee import Noise
from ostraka.client.students.dp_sgd.private_training import PrivateOptimizer, train_privately
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.networks import network

UNLIKELY = 1e-9
DELTA = 1e-5
STEPS, RATE = 3, 0.9
MUCH = Noise(12.0, RATE, STEPS)
"""What it promises, an epsilon of 0.46, is little beside the 1.4 that the trainings can show."""
TRAININGS = 200
MARKS = 64


def mark(noise: Noise, clip: float, *, there: bool) -> float:
    """Return the mean weight of features that the last record alone has, if it is there.

    It is left empty by targets of 0, which have no gradient.
    """
    X = torch.zeros(8, 1 + MARKS)
    X[:-1, 0], X[-1, 1:] = 1, 1000
    targets = torch.eye(2).repeat(4, 1)
    targets[-1] *= there
    learning = Learning(learning_rate=0.1, ema=0.0, weight_decay=0.0, device="cpu")
    net = network((1 + MARKS,), 2, "linear")
    learned = train_privately(
        net, X, targets, noise, clip, learning, multi_label=False, progress=lambda done, total: None
    )
    (weight, _) = learned.parameters()
    return float((weight[1, 1:] - weight[0, 1:]).detach().mean())


def shown(noise: Noise, clip: float) -> float:
    """Return the epsilon that trainings show, by a threshold that half of them set."""
    present, absent = (
        np.array([mark(noise, clip, there=there) for _ in range(TRAININGS)]) for there in (True, False)
    )
    half = TRAININGS // 2
    best = max([*present[:half]], key=lambda least: _bound(present[:half] >= least, absent[:half] >= least))
    return _bound(present[half:] >= best, absent[half:] >= best)


def _bound(hits: NDArray[np.bool_], mistakes: NDArray[np.bool_]) -> float:
    right = stats.beta.ppf(UNLIKELY, hits.sum(), (~hits).sum() + 1) if hits.any() else 0.0
    wrong = 1.0 if mistakes.all() else stats.beta.ppf(1 - UNLIKELY, mistakes.sum() + 1, (~mistakes).sum())
    return math.log(max(right - DELTA, 1e-300) / wrong)


@pytest.mark.heavy
def test_no_training_shows_more_than_its_epsilon() -> None:
    assert shown(MUCH, 1.0) <= MUCH.epsilon(DELTA)


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("drawn", "clip"),
    [(Noise(1e-3, RATE, STEPS), 1.0), (Noise(3e-6, RATE, STEPS), 1e6)],
    ids=["hardly any noise", "no clipping"],
)
def test_noise_and_clipping_that_are_missing_are_seen(drawn: Noise, clip: float) -> None:
    assert shown(drawn, clip) > MUCH.epsilon(DELTA)


def step(gradients: Tensor, *, multiplier: float, expected: float) -> Tensor:
    """Return the gradient that an optimizer makes of gradients by record, (N, F)."""
    weight = nn.Parameter(torch.zeros(gradients.shape[1]))
    optimizer = PrivateOptimizer(
        torch.optim.SGD([weight], lr=1.0),
        noise_multiplier=multiplier,
        max_grad_norm=2.0,
        expected_batch_size=expected,
    )
    if len(gradients):
        weight.grad_sample = gradients  # type: ignore[attr-defined]
        optimizer.clip_and_accumulate()
    optimizer.add_noise()
    assert weight.grad is not None
    return weight.grad


def test_no_record_moves_a_sum_by_more_than_the_clip() -> None:
    bad = torch.tensor([[6.0, 8.0], [0.3, 0.4], [math.nan, 1.0], [math.inf, 0.0], [1e38, 1e38]])
    each = [step(row[None], multiplier=0.0, expected=1.0) for row in bad]
    assert all(one.norm() <= 2.0001 for one in each)
    np.testing.assert_allclose(each[0], [1.2, 1.6], rtol=1e-4)
    np.testing.assert_allclose(each[1], [0.3, 0.4], rtol=1e-4)
    np.testing.assert_allclose(step(bad, multiplier=0.0, expected=4.0), sum(each) / 4, rtol=1e-4)


def test_the_noise_is_as_large_as_promised_and_that_of_no_records_too() -> None:
    none = torch.zeros(0, 100_000)
    drawn = step(none, multiplier=3.0, expected=2.0).double().numpy()
    assert stats.kstest(drawn / (3.0 * 2.0 / 2.0), "norm").pvalue > UNLIKELY
    assert not np.array_equal(step(none, multiplier=3.0, expected=2.0), drawn)
