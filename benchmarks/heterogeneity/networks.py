"""Networks trained by the project's own code, and what they say: teachers, and students like them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.heterogeneity.data import CLASSES, Records
from services.teachers.config import TrainingConfig
from services.teachers.fitting import fit_networks
from services.teachers.guard import Guard
from services.teachers.nets import Networks
from services.teachers.slices import Slice

Votes = NDArray[np.uint8]
"""Classes that networks say, (networks, Q)."""
MODEL = "cnn"
"""004's students are of its teachers' architecture, and so are ours."""


def answers(learnt: Sequence[Records], entropy: int, X: NDArray[np.float32]) -> Votes:
    """Trains a network on each part of `learnt`; returns the classes (networks, Q) of `X` (Q, ...)."""
    parts = [Slice(part.X, part.y, (entropy, row)) for row, part in enumerate(learnt)]
    nets = fit_networks(parts, MODEL, CLASSES, TrainingConfig(teachers=len(parts)), _silent)
    networks = Networks.of(MODEL, X.shape[1:], nets)
    return networks.predict(X.reshape(len(X), -1), Guard(CLASSES)).astype(np.uint8)


def _silent(done: int, total: int) -> None:
    """Tells nobody: ensembles are progress enough."""
