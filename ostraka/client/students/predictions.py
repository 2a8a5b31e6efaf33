"""A student's class probabilities on a pool, for Interactive's check."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing import FRACTION_BITS

UNITS = 2**FRACTION_BITS
"""The score that represents probability 1."""


@dataclass(frozen=True)
class Beliefs:
    """A student's probabilities of the classes of a pool's records.

    Attributes:
        sha256: of the student's file, in hex.
        scores: probabilities in units of 2^-16, rounded to the nearest, uint32 (queries, classes).
    """

    sha256: str
    scores: NDArray[np.uint32]

    def confident(self, confidence: float) -> tuple[int | None, ...]:
        """Return the most probable class of each query if its probability exceeds `confidence`, else None."""
        sure = self.scores.max(axis=1) > confidence * UNITS
        likeliest = self.scores.argmax(axis=1)
        return tuple(int(label) if known else None for label, known in zip(likeliest, sure, strict=True))


def read_beliefs(path: Path, features: NDArray[np.float32], classes: int) -> Beliefs:
    """Return the probabilities of the student saved at `path` for prepared features (queries, columns).

    Raises `data.missing` if there is no such file, and `model.invalid` if it does not contain a classifier of
    these features and classes made of trusted types.
    """
    from ostraka.client.students.files import parse_student, unusable

    try:
        data = path.read_bytes()
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"There is no student {path}: train one with `ostraka query retrain`.",
        ) from exc
    student = parse_student(data, path)
    if getattr(student, "multi_label_", False):
        raise unusable(path, "it tells labels that go together, and not one class of several")
    try:
        probabilities = np.asarray(student.predict_proba(features), np.float64)
        known = np.asarray(student.classes_, np.int64)
        if not ((probabilities >= 0) & (probabilities <= 1)).all():
            raise ValueError
        scores = np.zeros((len(features), classes), np.uint32)
        scores[:, known] = np.rint(probabilities * UNITS)
    except (AttributeError, ValueError, TypeError, IndexError, OstrakaError) as exc:
        raise unusable(path, f"it gives no probabilities of this task's {classes} classes") from exc
    return Beliefs(hashlib.sha256(data).hexdigest(), scores)
