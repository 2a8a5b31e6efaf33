"""Votes of stand-ins for the parties' teachers: models of the querying site's own labelled records."""

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.models import is_learnable, probabilities, train
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.task import Source, Task

STAND_INS = 100
"""Number of models: at least half of them vote on each record, so a share is known within 7 points."""
MIN_OWN = 20
"""Minimum of labelled records: fewer say nothing about how often votes are right."""
MIN_RARE = 5
"""Minimum of records of a rare class: the share that is found is then known within 22 points, with fewer less
well."""
_MODEL = "logistic_regression"
"""The usual model of teachers of tables; it takes milliseconds."""
_SEED = 0
"""Any constant seed will do, so a search is repeatable."""


def vote_on_own_records(task: Task, labelled: Source, teachers: int, size: float) -> VoteSample:
    """Simulate how `teachers` teachers might vote on labelled records; the true labels are included.

    Each stand-in learns from a random subset of `size` records, the average of a teacher, or from half of
    them if that is less, and votes on the others. No party is asked. Real teachers learn from other people's
    data and may be other models, so the result only holds as far as they are similar.

    Raises:
        OstrakaError: `config.invalid` for a multi-label task, `data.*` for records that do not fit the task,
            `data.too_few` for fewer than `MIN_OWN`, for a single class, or for fewer than `MIN_RARE` of a
            rare class.
    """
    if task.multi_label:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Own records can replace votes only if a record has one class: give --votes for a task of "
            "several labels.",
        )
    records = task.records(labelled)
    X = task.prepare(records.X).reshape(len(records), -1)
    y = records.labels()
    if len(y) < MIN_OWN or not is_learnable(y):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"A search on own records needs {MIN_OWN} of at least two classes, and these are {len(y)}: label "
            "more, or give --votes or --teacher-accuracy.",
        )
    learned = min(len(y) // 2, max(1, round(size)))
    votes, asked = _count_votes(X, y, len(task.classes), learned)
    known = asked > 0
    sample = VoteSample(teachers * votes[known] / asked[known, None], teachers, y[known])
    if sample.has_rare_class and (fewest := np.bincount(y).min()) < MIN_RARE:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"These records have {fewest} of the rarer class, and it takes {MIN_RARE} to tell how many votes "
            "for it are enough: label more of it, or give --votes.",
        )
    return sample


def _count_votes(
    X: NDArray[np.float32], y: NDArray[np.int64], classes: int, size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the stand-ins' votes (N, classes) on records they did not learn from, and their number (N,)."""
    random = np.random.default_rng(_SEED)
    votes = np.zeros((len(y), classes))
    asked = np.zeros(len(y))
    for _ in range(STAND_INS):
        order = random.permutation(len(y))
        learned = order[:size]
        others = order[size:]
        if is_learnable(y[learned]):
            model = train(_MODEL, X[learned], y[learned], standardize=True)
            said = probabilities(model, X[others], classes).argmax(axis=1)
        else:
            said = np.full(len(others), y[learned[0]])
        votes[others, said] += 1
        asked[others] += 1
    return votes, asked
