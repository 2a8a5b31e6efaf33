"""Fallback votes of models that cannot vote, and refusals if the device fails instead."""

from collections.abc import Callable
from typing import Any

import numpy as np
import structlog
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

Votes = NDArray[Any]
"""Class indices (models, Q) int64; in multi-label tasks scores (models, Q, labels) float32 in [0, 1]."""
Predict = Callable[[NDArray[np.float32]], NDArray[Any]]
"""Maps records (Q, F) to the models' votes."""
FALLBACK = 0
"""The class, or every label's score, of a failed vote: constant, whatever the failure."""


class VoteGuard:
    """Replaces failures and invalid votes by votes for `FALLBACK`; logs it once, without data.

    Attributes:
        multi_label: whether a vote is a score in [0, 1] for every label, not a class.
    """

    def __init__(self, classes: int, *, multi_label: bool = False) -> None:
        self.multi_label = multi_label
        self._classes = classes
        self._told = False

    def votes(self, predict: Predict, X: NDArray[np.float32], models: int) -> Votes:
        """Return the votes by `predict` of these models for all records (Q, F).

        A vote with any invalid part is replaced entirely. If `predict` fails, it is repeated for each half of
        the records, so a record that a model cannot process changes no other vote.

        Raises:
            OstrakaError: `server.device_gone` if `predict` also fails on a record of zeros. Models that could
                process one when they were loaded always can while their device works.
        """
        found = self._attempt(predict, X, models)
        if not isinstance(found, str):
            return found
        # Checked before records are blamed: a failed device fails on zeros as well.
        self._require_device(predict, X, models)
        if len(X) > 1:
            halves = np.array_split(X, 2)
            return np.concatenate([self.votes(predict, half, models) for half in halves], axis=1)
        # A temporary lack of memory should not cause a vote for `FALLBACK`.
        found = self._attempt(predict, X, models)
        if not isinstance(found, str):
            return found
        self._tell(found)
        return self.fallback(models, 1)

    def fallback(self, models: int, queries: int) -> Votes:
        """Return votes for `FALLBACK` of these models."""
        return np.full(self._shape(models, queries), FALLBACK, self._kind)

    def _require_device(self, predict: Predict, X: NDArray[np.float32], models: int) -> None:
        found = self._attempt(predict, np.zeros_like(X[:1]), models)
        if isinstance(found, str):
            raise device_gone(found)

    def _attempt(self, predict: Predict, X: NDArray[np.float32], models: int) -> Votes | str:
        """Return the votes, or the name of the exception; its frames and their memory are then free."""
        try:
            votes = np.asarray(predict(X))
            if votes.shape != self._shape(models, len(X)):
                raise ValueError("wrong number of votes")
            valid = self._valid(votes)
        except (Exception, SystemExit) as exc:
            return type(exc).__name__
        if not valid.all():
            self._tell("no vote")
        return np.where(valid, votes, FALLBACK).astype(self._kind)

    @property
    def _kind(self) -> type[np.float32 | np.int64]:
        return np.float32 if self.multi_label else np.int64

    def _shape(self, models: int, queries: int) -> tuple[int, ...]:
        return (models, queries, self._classes) if self.multi_label else (models, queries)

    def _valid(self, votes: Votes) -> Any:
        """Return which votes are classes, or have a score for every label; broadcasts against the votes."""
        if self.multi_label:
            return ((votes >= 0) & (votes <= 1)).all(axis=-1, keepdims=True)
        return (votes >= 0) & (votes < self._classes) & (votes == np.trunc(votes))

    def _tell(self, problem: str) -> None:
        if not self._told:
            self._told = True
            structlog.get_logger().warning("teacher.failed", problem=problem, votes_for=FALLBACK)


def device_gone(failure: str) -> OstrakaError:
    """Return the refusal of a batch by teachers that fail on zeros too; `failure` is an exception's name."""
    return OstrakaError(
        ErrorCode.SERVER_DEVICE_GONE,
        f"This party's teachers cannot vote on a record of zeros ({failure}): its GPU or memory is gone "
        "or full, or its libraries differ from those at training; go on without it until its operator "
        "has repaired and restarted it.",
    )
