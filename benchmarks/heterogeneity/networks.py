"""Networks trained by the project's own code, and their predictions: teachers, and similar students."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.heterogeneity.data import CLASSES, Records
from benchmarks.heterogeneity.quick import MODEL
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.nets import Networks

Votes = NDArray[np.uint8]
"""Predicted classes of networks, (networks, Q)."""


def answers(
    learnt: Sequence[Records], entropy: int, X: NDArray[np.float32], epochs: int | None = None
) -> Votes:
    """Train a network on each part of `learnt`; return the classes (networks, Q) of `X` (Q, ...)."""
    parts = [Slice(part.X, part.y, (entropy, row)) for row, part in enumerate(learnt)]
    config = TrainingConfig(teachers=len(parts), epochs=epochs)
    nets = fit_networks(parts, MODEL, CLASSES, config, _silent, layout="workers")
    networks = Networks.of(MODEL, X.shape[1:], nets)
    return networks.predict(X.reshape(len(X), -1), VoteGuard(CLASSES)).astype(np.uint8)


def _silent(done: int, total: int) -> None:
    """Do nothing: ensembles are enough progress."""
