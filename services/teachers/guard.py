"""Fallback votes of models that cannot vote."""

from collections.abc import Callable
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

Votes = NDArray[Any]
"""Class indices (models, Q) int64; in multi-label tasks scores (models, Q, labels) float32 in [0, 1]."""
FALLBACK = 0
"""The class, or every label's score, of a vote that a model could not give: fixed, whatever the failure."""


class VoteGuard:
    """Turns failures and answers that are no vote into votes for `FALLBACK`; says so once, without data.

    Attributes:
        multi_label: whether a vote is a score in [0, 1] for every label, not a class.
    """

    def __init__(self, classes: int, *, multi_label: bool = False) -> None:
        """Take the number of classes, or of labels."""
        self.multi_label = multi_label
        self._classes = classes
        self._told = False

    def votes(self, predict: Callable[[slice], NDArray[Any]], models: int, queries: int) -> Votes:
        """Return what `predict` gives for all queries as votes of these models.

        A vote that is not whole is replaced as a whole. Where `predict` fails, each half of the queries is
        asked by itself: a query that a model cannot take changes its vote on no other.
        """
        return self._votes(predict, models, slice(0, queries))

    def fallback(self, models: int, queries: int) -> Votes:
        """Votes for `FALLBACK` of these models."""
        return np.full(self._shape(models, queries), FALLBACK, self._kind)

    def _votes(self, predict: Callable[[slice], NDArray[Any]], models: int, part: slice) -> Votes:
        queries = part.stop - part.start
        try:
            votes = np.asarray(predict(part))
            if votes.shape != self._shape(models, queries):
                raise ValueError("wrong number of votes")
            valid = self._valid(votes)
        except (Exception, SystemExit) as exc:
            if queries > 1:
                return self._by_halves(predict, models, part)
            self._tell(type(exc).__name__)
            return self.fallback(models, queries)
        if not valid.all():
            self._tell("no vote")
        return np.where(valid, votes, FALLBACK).astype(self._kind)

    def _by_halves(self, predict: Callable[[slice], NDArray[Any]], models: int, part: slice) -> Votes:
        middle = (part.start + part.stop) // 2
        halves = slice(part.start, middle), slice(middle, part.stop)
        return np.concatenate([self._votes(predict, models, half) for half in halves], axis=1)

    @property
    def _kind(self) -> type[np.float32 | np.int64]:
        return np.float32 if self.multi_label else np.int64

    def _shape(self, models: int, queries: int) -> tuple[int, ...]:
        return (models, queries, self._classes) if self.multi_label else (models, queries)

    def _valid(self, votes: Votes) -> Any:
        """Which votes are classes, or hold a score for every label; broadcasts against the votes."""
        if self.multi_label:
            return ((votes >= 0) & (votes <= 1)).all(axis=-1, keepdims=True)
        return (votes >= 0) & (votes < self._classes) & (votes == np.trunc(votes))

    def _tell(self, problem: str) -> None:
        if not self._told:
            self._told = True
            structlog.get_logger().warning("teacher.failed", problem=problem, votes_for=FALLBACK)
