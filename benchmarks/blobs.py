"""Records of well-separated classes, in any number, for training, queries and tests."""

from pathlib import Path

import numpy as np

CLASSES = 10  # the digits have as many
FEATURES = 64  # scikit-learn's digits have as many


def write_blobs(file: Path, train: int, test: int) -> Path:
    """Write `train` records for the parties and `test` for the querying party, float32; return the file."""
    random = np.random.default_rng(0)
    count = train + test
    y = np.arange(count) % CLASSES
    X = random.normal(0, 3, (CLASSES, FEATURES))[y] + random.normal(0, 3, (count, FEATURES))
    X = X.astype(np.float32)
    np.savez(file, X_train=X[:train], y_train=y[:train], X_test=X[train:], y_test=y[train:])
    return file
