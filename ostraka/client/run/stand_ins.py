"""Votes of stand-ins for the parties' teachers: models of the querying site's own labelled records."""

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.models import is_learnable, probabilities, train
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.task import Source, Task

STAND_INS = 100
"""Models that vote: each record is asked of half of them or more: a share is known within 7 points."""
MIN_OWN = 20
"""Labelled records below which nothing is told of how often votes are right."""
MIN_RARE = 5
"""Records of a rare class: what share of them is found is uncertain by 22 in 100, and by more with fewer."""
_MODEL = "logistic_regression"
"""As teachers of tables mostly are; it takes milliseconds."""
_SEED = 0
"""Any seed will do; always the same, so that a search finds the same again."""


def vote_on_own_records(task: Task, labelled: Source, teachers: int, size: float) -> VoteSample:
    """Return how so many teachers might vote on labelled records, and what is right.

    Each stand-in learns from `size` records, which a teacher has on average, or a half where that is less,
    drawn at random, and votes on the others. Nothing is asked of anybody. Real teachers learn of other
    people, and may be other models: what is found on these votes suits them as far as they are alike.

    Raises:
        OstrakaError: `config.invalid` for a task of several labels, `data.*` for records that are not the
            task's, `data.too_few` for fewer than `MIN_OWN`, none of another class, or fewer than `MIN_RARE`
            of a rare one.
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
    """Return votes (N, classes) of stand-ins on records that they did not learn from, and how many (N,)."""
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
