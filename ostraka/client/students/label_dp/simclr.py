"""SimCLR: an embedding learned from features alone, in which two views of a record lie close together.

SimCLR (Chen et al. 2020), by which Tang et al. 2022 find their clusters (section 2.1).
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
"""Of training: by them 93% of digits are in a cluster of their class, 78% without."""
BATCH = 256
"""Records of a step, each told from all others of it: the fewest that Chen et al. 2020 train with."""
LEARNING_RATE = 2e-3
"""As students learn (`Learning`)."""
WEIGHT_DECAY = 1e-4
"""Little: so few steps hardly learn records by heart."""
TEMPERATURE = 0.5
"""Divides cosines, as Chen et al. 2020 do on small images (appendix B.9)."""
EMBEDDING = 64
"""Width of what is clustered: the figures of docs/label-dp-measured.md are of so many."""
PROJECTION = 32
"""Width of what is contrasted: this last layer is thrown away."""


def embed(
    features: Features, shape: Shape, *, seed: int = 0, steps: int = STEPS, device: str = AUTO
) -> Features:
    """Embeddings of length 1, float32 (N, EMBEDDING), by a network trained on these records.

    Args:
        features: prepared features, flat float32 (N, F), at least 2 records.
        shape: of one record, which network and views go by.
        seed: of weights, order and views.
        steps: of training.
        device: where it is trained, by name.

    Raises `device.missing`, and `device.full` where its memory is short.
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
    """Make two strong views of a record alike among all of a batch."""
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

    Each of the 2n rows shall be told its partner from the 2n - 2 others by their cosines.
    """
    both = functional.normalize(torch.cat([first, second]))
    cosines = both @ both.T / temperature
    cosines.fill_diagonal_(-torch.inf)
    partners = torch.arange(len(both), device=both.device).roll(len(first))
    return functional.cross_entropy(cosines, partners)


def _batches(records: int, steps: int, random: torch.Generator) -> Iterator[Tensor]:
    """Rows of every step: the records in a new random order whenever they have all been seen."""
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
