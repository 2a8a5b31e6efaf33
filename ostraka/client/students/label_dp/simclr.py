"""SimCLR: a self-supervised embedding in which two views of a record are close together.

SimCLR (Chen et al. 2020); Tang et al. 2022 find their clusters by it (section 2.1).
"""

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ostraka.common.learning.augmentation import Augmentation, augmentation
from ostraka.common.learning.data import Standardization
from ostraka.common.learning.device import AUTO, Device
from ostraka.common.learning.device_failures import device_failures
from ostraka.common.learning.networks import network
from ostraka.common.learning.shape import Shape

Features = NDArray[np.float32]

STEPS = 400
"""Training steps: after them 93% of digits are in a cluster of their class, 78% without training."""
BATCH = 256
"""Records per step, each contrasted with all others: the smallest number that Chen et al. 2020 train with."""
LEARNING_RATE = 2e-3
"""The same as of students (`Learning`)."""
WEIGHT_DECAY = 1e-4
"""Small: so few steps hardly overfit."""
TEMPERATURE = 0.5
"""Divides cosines; the value of Chen et al. 2020 for small images (appendix B.9)."""
EMBEDDING = 64
"""Dimensions of the embedding that is clustered; the measurements in docs/label-dp-measured.md use it."""
PROJECTION = 32
"""Dimensions of the contrasted layer, which is discarded after training."""


def embed(
    features: Features, shape: Shape, *, seed: int = 0, steps: int = STEPS, device: str = AUTO
) -> Features:
    """Return embeddings of length 1, float32 (N, EMBEDDING), by a network trained on these records.

    Args:
        features: prepared features, flat float32 (N, F), at least 2 records.
        shape: of one record, which selects network and views.
        seed: of weights, order and views.
        steps: of training.
        device: where the network is trained, by name.

    Raises `device.missing`, and `device.full` if the device runs out of memory.
    """
    chosen = Device(device)
    with device_failures(chosen):
        X = torch.from_numpy(Standardization.of(features, shape).apply(features)).to(chosen.first)
        encoder = network(shape, EMBEDDING, seed=seed).to(chosen.first)
        projection = nn.Sequential(nn.ReLU(), _linear_layer(seed)).to(chosen.first)
        train(nn.Sequential(encoder, projection), augmentation(shape), X, seed=seed, steps=steps)
        encoder.eval()
        with torch.inference_mode():
            parts = [encoder(part) for part in torch.split(X, 4 * BATCH)]
        return np.asarray(functional.normalize(torch.cat(parts)).cpu().numpy())


def train(net: nn.Module, views: Augmentation, X: Tensor, *, seed: int, steps: int) -> None:
    """Train a network to make two strong views of a record similar, among all records of a batch."""
    random = torch.Generator(X.device).manual_seed(seed)
    optimizer = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=WEIGHT_DECAY)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    net.train()
    for rows in _batches(len(X), steps, random):
        first, second = (views.strong(X[rows], random) for _ in range(2))
        loss = contrast(*net(torch.cat([first, second])).chunk(2))
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        schedule.step()


def contrast(first: Tensor, second: Tensor, temperature: float = TEMPERATURE) -> Tensor:
    """Return the normalised, temperature-scaled cross-entropy of pairs (n, d), a scalar (SimCLR, Equation 1).

    Each of the 2n rows is classified: its partner against 2n - 2 others, by their cosines.
    """
    both = functional.normalize(torch.cat([first, second]))
    cosines = both @ both.T / temperature
    cosines.fill_diagonal_(-torch.inf)
    partners = torch.arange(len(both), device=both.device).roll(len(first))
    return functional.cross_entropy(cosines, partners)


def _batches(records: int, steps: int, random: torch.Generator) -> Iterator[Tensor]:
    """Yield the rows of every step: the records in random order, shuffled again once all were seen."""
    size = min(BATCH, records)
    waiting = torch.empty(0, dtype=torch.int64, device=random.device)
    for _ in range(steps):
        if len(waiting) < size:
            waiting = torch.randperm(records, generator=random, device=random.device)
        yield waiting[:size]
        waiting = waiting[size:]


def _linear_layer(seed: int) -> nn.Linear:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Linear(EMBEDDING, PROJECTION)
