"""DP-SGD by Opacus: one network, every record's gradient clipped, noise on each batch's sum."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.dpsgd.networks import linear, loss_of
from ostraka.client.students.dp_sgd.guarantee import Noise, calibrate, missing

Network = Callable[[int, int], nn.Module]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Training:
    """How a network learns.

    Attributes:
        epochs: expected number of times that a record is drawn.
        batch: expected number of records in a batch; records are drawn independently (Poisson sampling).
        rate: learning rate of SGD with momentum 0.9.
        clip: norm to which a record's gradient is clipped.
    """

    epochs: int = 20
    batch: int = 128
    rate: float = 0.5
    clip: float = 1.0

    def sampling(self, records: int) -> tuple[float, int]:
        """Return the probability that a record is in a batch, and the number of batches."""
        per_epoch = max(1, round(records / self.batch))
        return 1 / per_epoch, self.epochs * per_epoch


@dataclass(frozen=True)
class Trained:
    """A network, and the noise of its training: None without a guarantee."""

    network: nn.Module = field(repr=False)
    multi_label: bool
    noise: Noise | None

    def predict_proba(self, X: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the probabilities (Q, k) of classes, or of labels, for records (Q, F)."""
        with torch.no_grad():
            logits = self.network(torch.from_numpy(X))
        p = torch.sigmoid(logits) if self.multi_label else torch.softmax(logits, dim=1)
        return p.double().numpy()


def dpsgd(
    X: NDArray[np.float32],
    y: NDArray[np.int64],
    epsilon: float | None,
    delta: float,
    *,
    classes: int,
    network: Network = linear,
    training: Training | None = None,
    seed: int = 0,
    progress: Progress = lambda done, total: None,
) -> Trained:
    """Train a network on records (N, F), `epsilon`-DP at `delta` for one record that is present or absent.

    The seed makes the noise reproducible as well, so the result must not be released.

    Args:
        X: records, scaled by public data.
        y: class indices (N,), or 0 and 1 for each label (N, k).
        epsilon: by privacy loss distributions; None trains without clipping, noise and guarantee.
        delta: of the guarantee.
        classes: number of classes, or of labels.
        network: builds it from the numbers of features and outputs.
        training: how it learns.
        seed: of the network's initial weights, the batches and the noise.
        progress: called with the batches done, and their total.

    Raises:
        OstrakaError: `config.invalid` if Opacus is not installed.
    """
    how = training or Training()
    rate, steps = how.sampling(len(X))
    # Before any slow work: without the extra, fail at once.
    privacy = None if epsilon is None else _privacy_engine()
    noise = None if epsilon is None else calibrate(epsilon, delta, rate, steps)
    torch.manual_seed(seed)
    net = network(X.shape[1], classes)
    optimizer = torch.optim.SGD(net.parameters(), lr=how.rate, momentum=0.9)
    data = TensorDataset(torch.from_numpy(X), torch.from_numpy(y))
    batches: Any = DataLoader(data, batch_size=max(1, round(len(X) * rate)), shuffle=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if noise is not None:
            wrapped, optimizer, batches = _private(privacy, net, optimizer, batches, noise, how.clip)
            _learn(wrapped, optimizer, batches, steps, progress)
        else:
            _learn(net, optimizer, batches, steps, progress)
    return Trained(net.eval(), y.ndim > 1, noise)


def _privacy_engine() -> Any:
    """Return Opacus' engine, or raise the error that says how to install it."""
    try:
        from opacus import PrivacyEngine
    except ImportError as exc:
        raise missing() from exc
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that its noise is torch's, which is fine for a benchmark
        return PrivacyEngine()


def _private(privacy: Any, net: nn.Module, optimizer: Any, batches: Any, noise: Noise, clip: float) -> Any:
    """Return Opacus' versions of all three: per-record gradients, clipping, noise, and Poisson batches."""
    return privacy.make_private(
        module=net,
        optimizer=optimizer,
        data_loader=batches,
        noise_multiplier=noise.multiplier,
        max_grad_norm=clip,
    )


def _learn(net: nn.Module, optimizer: Any, batches: Any, steps: int, progress: Progress) -> None:
    done = 0
    while done < steps:
        for X, y in batches:
            optimizer.zero_grad()
            loss_of(net(X), y).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            done += 1
            progress(done, steps)
            if done == steps:
                break
