"""What a student believes of a pool, as Interactive's check is told it."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError
from common.sharing.fixed_point import FRACTION_BITS

UNITS = 2**FRACTION_BITS
"""Scores that a probability of 1 is sent as."""
TRUSTED = ("sklearn.neural_network._stochastic_optimizers.AdamOptimizer",)
"""What a fitted network holds beside types that skops trusts by itself: numbers alone."""


@dataclass(frozen=True)
class Beliefs:
    """A student's probabilities of a pool's classes.

    Attributes:
        sha256: of the student's file, in hex.
        scores: probabilities in units of 2^-16, each rounded to the nearest, uint32 (queries, classes).
    """

    sha256: str
    scores: NDArray[np.uint32]

    def confident(self, confidence: float) -> tuple[int | None, ...]:
        """The likeliest class of each query if its probability exceeds `confidence`, else None."""
        sure = self.scores.max(axis=1) > confidence * UNITS
        likeliest = self.scores.argmax(axis=1)
        return tuple(int(label) if known else None for label, known in zip(likeliest, sure, strict=True))


def read_beliefs(path: Path, features: NDArray[np.float32], classes: int) -> Beliefs:
    """The beliefs of the student saved at `path` about prepared features (queries, columns).

    Raises `data.missing` where there is no such file, and `model.invalid` where it holds anything but a
    classifier of these features and classes made of trusted types.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"There is no student {path}: train one with `ostraka query retrain`.",
        ) from exc
    student = _load(data, path)
    try:
        probabilities = np.asarray(student.predict_proba(features), np.float64)
        known = np.asarray(student.classes_, np.int64)
        scores = np.zeros((len(features), classes), np.uint32)
        scores[:, known] = np.rint(probabilities * UNITS)
    except (AttributeError, ValueError, TypeError, IndexError) as exc:
        raise _unusable(path, f"it gives no probabilities of this task's {classes} classes") from exc
    return Beliefs(hashlib.sha256(data).hexdigest(), scores)


def _load(data: bytes, path: Path) -> Any:
    """The model in a skops file of trusted types."""
    import skops.io

    try:
        return skops.io.loads(data, trusted=list(TRUSTED))
    except Exception as exc:  # skops lets errors of every kind through for files that are not its own
        raise _unusable(path, "it is no skops file of trusted types") from exc


def _unusable(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The student {path} cannot be used, {problem}: train it with `ostraka query retrain`.",
    )
