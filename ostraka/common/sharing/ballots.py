"""Ballot formats: how teachers' votes are counted into a party's ballots, in multiples of 2^-16 vote.

Votes on classes are indices. Votes on labels are scores from 0 to 1; a score of at least 0.5 is a yes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.label_sets import count_sets, index_of
from ostraka.common.sharing.statement import Norm, Statement


def l1_radius(tau1: float) -> float:
    """Return the largest L2 norm of a ballot of zeros and ones scaled by min(1, tau1/its L1 norm).

    With m positives the norm is sqrt(m) up to tau1 and tau1/sqrt(m) beyond, so it is largest at one of the
    whole numbers next to tau1. Own derivation. Raises ValueError if tau1 is not a finite number above 0.
    """
    if not 0 < tau1 < math.inf:
        raise ValueError(f"tau1: must be a finite number above 0, is {tau1}")
    largest = max(math.sqrt(math.floor(tau1)), tau1 / math.sqrt(math.ceil(tau1)))
    return min(largest, math.sqrt(tau1))


Scores = NDArray[np.floating[Any]]
YES = 0.5
"""The score from which a label counts as a yes, the likelier side."""
VOTE = 2**FRACTION_BITS
"""The weight of one whole vote."""
VERIFIED_STEPS = {1: VOTE // 256, 2: VOTE // 64}
"""Step of scaled votes in verified ballots, by norm; coarse, so that few digits are needed."""


class RecordVoters(Protocol):
    """A party's labelled records as voters of one batch; each record votes at most once."""

    def counts(self) -> NDArray[np.float64]:
        """Return the number of records of each class in each cluster, (clusters, classes)."""

    def responses(self, epsilon: float) -> NDArray[np.float64]:
        """Return votes for the classes of records, each randomised with `epsilon`, (queries, classes)."""

    def label_responses(self, epsilon: float) -> NDArray[np.float64]:
        """Return noes, then yeses, on labels of records, randomised with `epsilon`, (queries, 2 labels)."""


class BallotFormat(ABC):
    """What the numbers of a ballot count, and who votes: a party's teachers or its records.

    Attributes:
        one_choice: whether every voter counts once in a row, so that each row sums to the number of voters.
        of_records: whether a party's records vote, by `count_records`, instead of teachers, by `count`.
    """

    one_choice: ClassVar[bool] = False
    of_records: ClassVar[bool] = False

    @abstractmethod
    def width(self, classes: int) -> int:
        """Return the number of ring values in a ballot for one query."""

    def count(self, votes: NDArray[Any], classes: int, weight: int = VOTE) -> NDArray[np.float64]:
        """Return the exact ballots of one party's teachers in votes, (queries, width).

        Args:
            votes: class indices (teachers, queries), or scores (teachers, queries, labels) of labels.
            classes: number of classes, or of labels.
            weight: weight of each teacher's vote, in steps of 2^-16 vote (Mühl and Boenisch 2022, section
                3.3).

        Raises:
            OstrakaError: `model.invalid` for a vote outside the classes.
            ValueError: for a format that does not count teachers' votes.
        """
        raise ValueError(f"{type(self).__name__} ballots count no votes")

    def count_records(self, records: RecordVoters) -> NDArray[np.float64]:
        """Return the ballots of one party's records in votes, (queries, width).

        Raises ValueError for a format in which teachers vote.
        """
        raise ValueError(f"{type(self).__name__} ballots count no records")

    @property
    def verifiable(self) -> Self:
        """The format of the same ballots for verification: votes are multiples of its `unit`."""
        return self

    @property
    def unit(self) -> int:
        """The step of every vote, in steps of 2^-16 vote."""
        return int(VOTE)

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """Return what ballots of this many voters satisfy and verified ones prove; None without a proof.

        The statement is about unweighted counts in the unit of `verifiable`. If it has one cell a row more
        than the ballots, that cell counts the voters in none of the others.
        """
        return None


@dataclass(frozen=True)
class ClassCounts(BallotFormat):
    """Votes for each class; every teacher votes for one."""

    one_choice: ClassVar[bool] = True

    def width(self, classes: int) -> int:
        """Return one count per class."""
        return classes

    def count(self, votes: NDArray[Any], classes: int, weight: int = VOTE) -> NDArray[np.float64]:
        """As in `BallotFormat.count`."""
        return single_label(votes, classes) * np.float64(weight / VOTE)

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: every voter counts once in a row."""
        return Statement(queries, self.width(classes), voters, voters)


@dataclass(frozen=True)
class LabelCounts(BallotFormat):
    """Votes for each label; every teacher says yes or no to each.

    Attributes:
        radius: norm to which a teacher's yeses are scaled down, in votes; infinite: they are not scaled.
        norm: 1 for the L1 norm, 2 for the L2 norm.
        step: scaled votes are rounded toward zero to multiples of it, in steps of 2^-16 vote.
    """

    radius: float = math.inf
    norm: Literal[1, 2] = 2
    step: int = 1

    @property
    def l2_radius(self) -> float:
        """The largest L2 norm of a teacher's ballot, in votes; infinite if only the labels limit it."""
        return l1_radius(self.radius) if self.norm == 1 and self.radius < math.inf else self.radius

    def width(self, classes: int) -> int:
        """Return one count per label."""
        return classes

    def count(self, votes: NDArray[Any], classes: int, weight: int = VOTE) -> NDArray[np.float64]:
        """As in `BallotFormat.count`; scaled ballots are rounded toward zero."""
        if math.isinf(self.radius):
            return positives(votes) * np.float64(weight / VOTE)
        return (clip_l2 if self.norm == 2 else clip_l1)(votes, self.radius, weight, self.step)

    @property
    def verifiable(self) -> Self:
        """As in `BallotFormat.verifiable`: scaled votes are rounded to 1/64 (L2) or 1/256 (L1) vote."""
        return self if math.isinf(self.radius) else replace(self, step=VERIFIED_STEPS[self.norm])

    @property
    def unit(self) -> int:
        """As in `BallotFormat.unit`."""
        return VOTE if math.isinf(self.radius) else self.step

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: every voter counts at most once, and the norms have a total bound.

        The norms are those of a voter's rounded ballot, so the claim is exact. None if a ballot with all
        labels is rounded to nothing.
        """
        if math.isinf(self.radius):
            return Statement(queries, classes, voters, None)
        step = VERIFIED_STEPS[self.norm]
        shares = _share(np.arange(1, classes + 1), self.radius, self.norm, step)
        counts = [int(share) // step for share in shares]
        if not counts[-1]:
            return None
        largest = max(yeses * count**self.norm for yeses, count in enumerate(counts, start=1))
        return Statement(
            queries, classes, voters * counts[0], None, Norm(self.norm, voters**self.norm * largest)
        )


@dataclass(frozen=True)
class LabelSetCounts(BallotFormat):
    """Votes for each label set; every teacher votes for one of at most `most` labels (None: any number)."""

    one_choice: ClassVar[bool] = True
    most: int | None = None

    def width(self, classes: int) -> int:
        """Return one count per label set."""
        return count_sets(classes, self.most)

    def count(self, votes: NDArray[Any], classes: int, weight: int = VOTE) -> NDArray[np.float64]:
        """As in `BallotFormat.count`."""
        return label_sets(votes, self.most) * np.float64(weight / VOTE)

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: every voter counts once in a row."""
        return Statement(queries, self.width(classes), voters, voters)


@dataclass(frozen=True)
class RecordCounts(BallotFormat):
    """Labelled records of each class in a cluster: a party counts its own labels, and no teacher votes."""

    of_records: ClassVar[bool] = True

    def count_records(self, records: RecordVoters) -> NDArray[np.float64]:
        """As in `BallotFormat.count_records`."""
        return records.counts()

    def width(self, classes: int) -> int:
        """Return one count per class."""
        return classes

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: a record counts once among all queries, or in the additional cell."""
        return Statement(1, queries * classes + 1, voters, voters)


@dataclass(frozen=True)
class RandomizedLabels(BallotFormat):
    """Labels of a party's own records, each randomised with `epsilon` before it is counted."""

    of_records: ClassVar[bool] = True
    epsilon: float

    def count_records(self, records: RecordVoters) -> NDArray[np.float64]:
        """As in `BallotFormat.count_records`."""
        return records.responses(self.epsilon)

    def width(self, classes: int) -> int:
        """Return one count per class."""
        return classes

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: one record votes on a query, or none, as the additional cell says."""
        return Statement(queries, classes + 1, 1, 1)


@dataclass(frozen=True)
class RandomizedLabelSets(BallotFormat):
    """Labels of a party's own records, some of each randomised together with `epsilon`: noes, then yeses."""

    of_records: ClassVar[bool] = True
    epsilon: float

    def count_records(self, records: RecordVoters) -> NDArray[np.float64]:
        """As in `BallotFormat.count_records`."""
        return records.label_responses(self.epsilon)

    def width(self, classes: int) -> int:
        """Return one count of noes and one of yeses per label."""
        return 2 * classes

    def claim(self, queries: int, classes: int, voters: int) -> Statement | None:
        """As in `BallotFormat.claim`: one record says no, or yes, to a label at most once."""
        return Statement(queries, self.width(classes), 1, None)


@dataclass(frozen=True)
class Updates(BallotFormat):
    """The sum of what a party's teachers learned in a round, one value for each of `parameters`."""

    parameters: int

    def width(self, classes: int) -> int:
        """Return one value per parameter."""
        return self.parameters


def single_label(votes: NDArray[np.integer[Any]], classes: int) -> NDArray[np.int64]:
    """Count the votes of a party's teachers.

    Args:
        votes: class indices, shape (teachers, queries).
        classes: number of classes k.

    Returns:
        Ballots of shape (queries, k), int64; every row sums to the number of teachers.

    Raises:
        OstrakaError: `model.invalid` if a teacher votes outside 0..k-1; the message does not contain the
            vote.
    """
    cast = np.asarray(votes, dtype=np.int64)
    outside = (cast < 0) | (cast >= classes)
    if outside.any():
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"Teacher {int(np.argmax(outside.any(axis=1)))} votes outside the task's {classes} classes: "
            "train it again with this task.",
        )
    return _count(cast, classes)


def positives(scores: Scores) -> NDArray[np.int64]:
    """Return how many teachers say yes to each label: (queries, labels) from (teachers, queries, labels)."""
    counts: NDArray[np.int64] = (scores >= YES).sum(axis=0, dtype=np.int64)
    return counts


def clip_l2(scores: Scores, tau: float, weight: int = VOTE, step: int = 1) -> NDArray[np.float64]:
    """Return the sum of ballots scaled to an L2 norm of at most `tau`, in multiples of 2^-16 vote.

    Dziedzic et al. 2023, section 3.2.

    A ballot of m yeses has norm sqrt(m), so each yes counts min(1, tau/sqrt(m)) vote, rounded toward zero to
    a multiple of `step` of 2^-16. The product with `weight` is rounded toward zero to 2^-16 again, so no
    ballot weighs more than `weight` says.
    """
    return _scale(scores, tau, 2, weight, step)


def clip_l1(scores: Scores, tau1: float, weight: int = VOTE, step: int = 1) -> NDArray[np.float64]:
    """Return the sum of ballots scaled to an L1 norm of at most `tau1`: one of m yeses counts min(1, tau1/m).

    Otherwise as in `clip_l2`.
    """
    return _scale(scores, tau1, 1, weight, step)


def label_sets(scores: Scores, max_positives: int | None) -> NDArray[np.int64]:
    """Return how many teachers vote for each label set, (queries, sets), ordered by `label_sets.index_of`.

    If there are more than `max_positives` yeses, those with the highest scores are kept; of equal scores, the
    lower label.
    """
    bits = scores >= YES
    labels = bits.shape[-1]
    if max_positives is not None:
        ranked = np.argsort(-np.where(bits, scores, -1.0), axis=-1, kind="stable")
        bits &= np.argsort(ranked, axis=-1) < max_positives
    return _count(index_of(bits), count_sets(labels, max_positives))


def _scale(scores: Scores, radius: float, norm: Literal[1, 2], weight: int, step: int) -> NDArray[np.float64]:
    bits = scores >= YES
    # A ballot without a yes counts nothing, whatever it is divided by.
    unweighted = _share(np.maximum(bits.sum(axis=-1), 1), radius, norm, step)
    steps = np.trunc(unweighted * weight / VOTE)
    total: NDArray[np.float64] = np.einsum("tqk,tq->qk", bits, steps)
    return np.ldexp(total, -FRACTION_BITS)


def _share(yeses: NDArray[np.int64], radius: float, norm: Literal[1, 2], step: int) -> NDArray[np.float64]:
    """Return what each of `yeses` yeses in a ballot counts, in steps of 2^-16 vote: a multiple of `step`."""
    scale = radius / (np.sqrt(yeses) if norm == 2 else yeses)
    return np.asarray(np.trunc(np.minimum(scale, 1.0) * (VOTE / step)) * step, np.float64)


def _count(choices: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """Return how often (teachers, queries) choose each of `width` places, as (queries, width)."""
    queries = choices.shape[1]
    cells = choices + width * np.arange(queries)
    return np.bincount(cells.ravel(), minlength=queries * width).reshape(queries, width)
