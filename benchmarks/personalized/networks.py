"""Networks trained by the project's own code, and their predictions."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks


def answers(
    learnt: Sequence[Slice], model: str, classes: int, config: TrainingConfig, X: NDArray[np.float32]
) -> NDArray[np.int64]:
    """Train a network on each slice; return their classes (networks, Q) for `X` (Q, *shape)."""
    nets = fit_networks(learnt, model, classes, config, lambda done, total: None)
    networks = Networks.of(model, X.shape[1:], nets)
    return np.asarray(networks.predict(X.reshape(len(X), -1), VoteGuard(classes)))
