"""What a model votes for when it cannot vote."""

from collections.abc import Callable
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

FALLBACK = 0
"""The class of a vote that a model could not give: fixed, so that a failure never changes who votes."""


class Guard:
    """Turns failures and answers that are no class into votes for `FALLBACK`; says so once, without data."""

    def __init__(self, classes: int) -> None:
        """Takes the number of classes."""
        self._classes = classes
        self._told = False

    def votes(self, predict: Callable[[], NDArray[Any]], models: int, queries: int) -> NDArray[np.int64]:
        """What `predict` gives as votes (models, queries)."""
        try:
            votes = np.asarray(predict())
            if votes.shape != (models, queries):
                raise ValueError("wrong number of votes")
            valid = (votes >= 0) & (votes < self._classes) & (votes == np.trunc(votes))
        except Exception as exc:
            self._tell(type(exc).__name__)
            return np.full((models, queries), FALLBACK, np.int64)
        if not valid.all():
            self._tell("no class")
        return np.where(valid, votes, FALLBACK).astype(np.int64)

    def _tell(self, problem: str) -> None:
        if not self._told:
            self._told = True
            structlog.get_logger().warning("teacher.failed", problem=problem, votes_for=FALLBACK)
