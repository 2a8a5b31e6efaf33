"""Records of classes that lie apart: as many as wanted to train on, to ask about and to test with."""

from pathlib import Path

import numpy as np

CLASSES = 10  # as many as the digits have, and
FEATURES = 64  # as many as scikit-learn's digits have


def write_blobs(file: Path, train: int, test: int) -> Path:
    """Write `train` records of the parties and `test` of the querying party, float32, and return the file."""
    random = np.random.default_rng(0)
    count = train + test
    y = np.arange(count) % CLASSES
    X = random.normal(0, 3, (CLASSES, FEATURES))[y] + random.normal(0, 3, (count, FEATURES))
    X = X.astype(np.float32)
    np.savez(file, X_train=X[:train], y_train=y[:train], X_test=X[train:], y_test=y[train:])
    return file
