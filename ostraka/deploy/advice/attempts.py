"""Attempts on a split, and their results."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.deploy.advice.measures import Measured, classes_of, measure
from ostraka.deploy.advice.splits import Split

WayName = Literal["nothing", "own", "votes", "sums", "randomised labels", "pooled"]
"""The possible ways; `votes` and `sums` are Ostraka's for records that stay secret."""


@dataclass(frozen=True)
class Attempt:
    """One way on one split.

    Attributes:
        way: its name.
        variant: of the way: a learner, a kind of model, or the number of voting teachers.
        epsilon: of each site's budget; None if nothing is released.
        measured: on records that no model has seen.
        labels: number of bought labels, in addition to own ones.
        seconds: processor time in this process.
        settings: settings of its command, by option.
    """

    way: WayName
    variant: str
    epsilon: float | None
    measured: Measured
    labels: int = 0
    seconds: float = 0.0
    settings: dict[str, Any] = field(default_factory=dict)


Predict = Callable[[NDArray[np.float32]], NDArray[Any]]
"""Returns probabilities (n, outputs), or numbers (n,), from features."""


class Clock:
    """Counts this process's processor seconds since its creation."""

    def __init__(self, now: Callable[[], float] = time.process_time) -> None:
        """Begin at once."""
        self._now = now
        self._begun = now()

    def seconds(self) -> float:
        """Return the number of seconds so far."""
        return self._now() - self._begun


def measure_model(split: Split, predict: Predict) -> Measured:
    """Return the figures of a model on the split's test records."""
    X, y = split.take(split.test)
    kind = split.records.kind
    found = predict(X)
    return measure(kind, y, found if kind == "number" else classes_of(kind, found))
