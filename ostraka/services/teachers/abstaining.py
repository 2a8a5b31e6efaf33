"""Labels that a party's records know nothing of: its teachers do not vote on them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task


def abstentions(task: Task, names: Sequence[str]) -> tuple[int, ...]:
    """Return the labels of a multi-label task with these names, by index in rising order.

    Raises `config.invalid` for a single-label task, a name that is no label or is there twice, and where none
    is left to vote on.
    """
    if not names:
        return ()
    problem = _problem(task, names)
    if problem is not None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{problem}: correct abstains in [training] of site.toml."
        )
    return tuple(sorted(task.classes.index(name) for name in names))


def hide_labels(y: NDArray[np.int64], labels: Sequence[int]) -> NDArray[np.int64]:
    """Labels y (N, k) with 0 for these `labels`, so that nothing is learned from what they hold."""
    if not labels:
        return y
    cleared = y.copy()
    cleared[:, list(labels)] = 0
    return cleared


def _problem(task: Task, names: Sequence[str]) -> str | None:
    if not task.multi_label:
        return f"Parties abstain from labels, and the task '{task.name}' has one class for a record"
    unknown = [name for name in names if name not in task.classes]
    if unknown:
        return f"The task '{task.name}' has no label '{unknown[0]}' to abstain from"
    if len(set(names)) < len(names):
        return "A label to abstain from is named twice"
    if len(names) == len(task.classes):
        return f"A party that abstains from all labels of the task '{task.name}' has nothing to vote on"
    return None
