"""Digests of training records and their assignment, for comparison."""

import hashlib
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.services.teachers.slices import Rows


def records_digest(dataset: Dataset) -> str:
    """SHA-256 of records, labels and consent levels in their order, hexadecimal."""
    digest = hashlib.sha256(repr((dataset.X.shape, dataset.labels().shape)).encode())
    digest.update(dataset.X.tobytes())
    digest.update(dataset.labels().tobytes())
    digest.update("\n".join(dataset.consent or ()).encode())
    return digest.hexdigest()


def features_digest(X: NDArray[np.float32]) -> str:
    """SHA-256 of prepared features in their order, hexadecimal."""
    digest = hashlib.sha256(repr(X.shape).encode())
    digest.update(np.ascontiguousarray(X).tobytes())
    return digest.hexdigest()


def slices_digest(slices: Sequence[Rows]) -> str:
    """SHA-256 of every teacher's rows of the records, teacher by teacher, hexadecimal."""
    digest = hashlib.sha256(repr([len(rows) for rows in slices]).encode())
    for rows in slices:
        digest.update(rows.astype(np.int64).tobytes())
    return digest.hexdigest()
