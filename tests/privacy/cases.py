"""What is audited: every mechanism, on two inputs that differ in what one unit can change."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DistributedGnMax,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
    Threshold,
)
from ostraka.common.privacy import ONE_VOTE, Influence

Votes = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A mechanism and neighbouring inputs of one query, or of one batch of clusters.

    Attributes:
        name: its name in the audit.
        mechanism: the mechanism that releases.
        classes: number of classes, or of labels.
        inputs: two neighbours, each the teachers' classes (teachers,), their scores (teachers, labels), or
            the records' clusters, or queries, and classes (records, 2), or labels (records, 1 + labels).
        scores: for Interactive the student's probabilities (classes,).
        influence: how much the unit can change.
        weights: weights of the teachers' votes, (teachers,) in votes; all 1 if empty.
        abstains: which teachers do not vote on which label, (teachers, labels); all vote if empty.
    """

    name: str
    mechanism: Mechanism
    classes: int
    inputs: tuple[Votes, Votes]
    scores: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    influence: Influence = ONE_VOTE
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    abstains: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))

    def __str__(self) -> str:
        return self.name

    @property
    def teachers(self) -> int:
        """The number of teachers; it does not matter if records vote."""
        return len(self.inputs[0])

    @property
    def votes(self) -> NDArray[np.float64]:
        """The weight of each teacher's vote."""
        return self.weights if len(self.weights) else np.ones(self.teachers)

    def totals(self, queries: int) -> NDArray[np.float64]:
        """Return the weight of all votes on each query (queries,), or on each label if some abstain."""
        if not len(self.abstains):
            return np.full(queries, self.votes.sum())
        return np.tile(self.votes @ ~self.abstains, (queries, 1))

    @property
    def rows(self) -> int:
        """Number of queries that form one outcome together: a whole batch if records vote, else one."""
        return CLUSTERS if self.mechanism.by_record else 1

    @property
    def digits(self) -> tuple[int, ...]:
        """Number of values per answer in an outcome: 0 for no answer, and 1 and up for its values."""
        values = 2 if self.mechanism.multi_label else self.classes
        return (values + 1,) * (self.rows * self.mechanism.answers(self.classes))


CLUSTERS = 2


def charged(case: Case, order: float, *, check: bool = True) -> float:
    """Return the charge for one query with all its answers given, or for one batch of clusters."""
    answered = np.ones((case.rows, case.mechanism.answers(case.classes)), dtype=np.bool_)
    cost = case.mechanism.worst_case(order, case.influence.sensitivity, classes=case.classes)
    return (cost if check else replace(cost, check=0.0)).rdp(answered)


def voted(counts: list[int], moved_to: int = 1) -> tuple[Votes, Votes]:
    """Return classes that make a histogram, and the same with the first teacher's vote moved."""
    votes = np.repeat(np.arange(len(counts)), counts)
    other = votes.copy()
    other[0] = moved_to
    return votes, other


def scored(rows: list[tuple[int, str]], other: str) -> tuple[Votes, Votes]:
    """Return scores of this many teachers with these bits each, and the same with the first one replaced.

    Every yes has a different score, falling from the first label to the last.
    """
    bits = [bits for teachers, bits in rows for _ in range(teachers)]
    return _scores(bits), _scores([other, *bits[1:]])


def _scores(bits: list[str]) -> NDArray[np.float32]:
    yes = np.array([[bit == "1" for bit in row] for row in bits])
    return np.where(yes, 0.9 - 0.1 * np.arange(yes.shape[1]), 0.2).astype(np.float32)


def records(counts: list[list[int]], moved_to: tuple[int, int] = (1, 1)) -> tuple[Votes, Votes]:
    """Make records from a count of clusters and classes; the first moves to another cluster and class."""
    cells = np.argwhere(np.ones_like(counts))
    records = np.repeat(cells, np.ravel(counts), axis=0)
    other = records.copy()
    other[0] = moved_to
    return records, other


def _per_label(check: Check | None) -> list[Case]:
    """Return the mechanisms that decide each label: the first teacher's labels are all inverted."""
    checked = "" if check is None else ", checked"
    even = scored([(6, "110"), (3, "001"), (1, "010")], "001")
    few = scored([(5, "1110"), (3, "1000")], "0001")
    return [
        Case(f"binary{checked}", Binary(sigma=2.0, check=check), 3, even),
        Case(f"tau{checked}", Tau(sigma=1.5, tau=1.0, check=check), 4, few),
        Case(f"l1{checked}", L1(sigma=1.5, tau1=1.5, check=check), 4, few),
    ]


CHECK = Check(sigma=2.0, threshold=4.0)

_SETS = scored([(5, "110"), (3, "100"), (1, "001")], "111")
_LARGE_SETS = scored([(6, "111"), (2, "101"), (2, "010")], "001")

CASES: list[Case] = [
    Case("gnmax, narrow", GnMax(sigma=2.0), 3, voted([6, 2, 2])),
    Case("gnmax, wide", GnMax(sigma=20.0), 4, voted([55, 25, 20, 0])),
    Case("distributed_gnmax", DistributedGnMax(sigma=2.0, honest=3), 3, voted([6, 2, 2])),
    Case("confident", Confident(sigma1=3.0, sigma2=2.0, threshold=3.0), 3, voted([6, 3, 1])),
    Case("confident, wide", Confident(sigma1=10.0, sigma2=5.0, threshold=18.0), 3, voted([28, 18, 4])),
    Case(
        "interactive",
        Interactive(sigma1=3.0, sigma2=2.0, threshold=2.0, confidence=0.9),
        3,
        voted([6, 3, 1]),
        np.array([0.125, 0.25, 0.625]),
    ),
    Case("lnmax", LnMax(gamma=0.5), 3, voted([7, 2, 2])),
    Case("threshold", Threshold(sigma=2.0, share=0.3), 2, voted([7, 3])),
    *_per_label(None),
    *_per_label(CHECK),
    Case("powerset", Powerset(sigma=2.0), 3, _SETS),
    Case("powerset, two labels", Powerset(sigma=1.5, max_positives=2), 3, _LARGE_SETS),
    Case("powerset, checked", Powerset(sigma=2.0, check=CHECK), 3, _SETS),
    Case("noise_cluster", NoiseCluster(sigma=2.0), 3, records([[6, 3, 1], [2, 2, 4]])),
]


def _labelled(*records: tuple[int, int], changed: int = 1) -> tuple[Votes, Votes]:
    """Make records of these queries and classes, and the same with the first `changed` in the last class."""
    one = np.array(records)
    other = one.copy()
    other[:changed, 1] = 2
    return one, other


def _several(*records: str) -> tuple[Votes, Votes]:
    """Make records of a query and its labels, and the same with all labels of the first record inverted."""
    one = np.array([[int(digit) for digit in record] for record in records])
    other = one.copy()
    other[0, 1:] = 1 - other[0, 1:]
    return one, other


_ANSWERS = (0, 0), (1, 0), (0, 1), (1, 1), (0, 0), (1, 0)

RANDOMIZED: list[Case] = [
    Case("rand_res", RandRes(epsilon=1.0), 3, _labelled(*_ANSWERS)),
    Case("rand_res, one query unanswered", RandRes(epsilon=2.0), 3, _labelled((0, 0), (0, 1))),
    Case("rand_res, one answer each", RandRes(epsilon=1.0), 3, _labelled((0, 0), (1, 1))),
    Case(
        "rand_res, two records",
        RandRes(epsilon=1.0),
        3,
        _labelled(*_ANSWERS, changed=2),
        influence=Influence(2),
    ),
    Case("rand_res_labels, some", RandResLabels(epsilon=1.0), 2, _several("010", "111", "001", "110")),
    Case("rand_res_labels, alone", RandResLabels(epsilon=2.0), 3, _several("0101")),
    Case("rand_res_labels, all", RandResLabels(epsilon=3.0), 2, _several("000", "111", "110")),
]
"""Labels that each party randomizes before sharing them: the guardian's noise changes nothing."""
ONE_ANSWER = [case for case in RANDOMIZED if case.influence == ONE_VOTE]
"""Cases of one record, which show when true labels are released too often."""

_WEIGHTS = np.array([1.5, 1.5, 1.5, 0.75, 0.75, 0.75, 0.75, 1.0, 1.0, 0.5])
_HEAVY, _LIGHT = Influence(weight=1.5), Influence(votes=3, weight=0.5)
_TWO = Influence(votes=2)
_COPIES = np.array([0, 0, 0, 0, 0, 0, 1, 1, 2, 2]), np.array([1, 0, 0, 0, 0, 0, 2, 1, 2, 2])
_PAIR = np.repeat([0, 1], [7, 3]), np.repeat([1, 0, 1], [2, 5, 3])
_HALVES = np.repeat([0, 1, 2], [12, 5, 3]), np.repeat([0, 1, 2, 1], [9, 5, 3, 3])

PERSONALIZED: list[Case] = [
    Case("gnmax, weighted", GnMax(sigma=2.0), 3, voted([6, 2, 2]), influence=_HEAVY, weights=_WEIGHTS),
    Case("lnmax, weighted", LnMax(gamma=0.5), 3, voted([6, 2, 2]), influence=_HEAVY, weights=_WEIGHTS),
    Case(
        "confident, weighted",
        Confident(sigma1=3.0, sigma2=2.0, threshold=3.0),
        3,
        voted([6, 3, 1]),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case(
        "interactive, weighted",
        Interactive(sigma1=3.0, sigma2=2.0, threshold=2.0, confidence=0.9),
        3,
        voted([6, 3, 1]),
        np.array([0.125, 0.25, 0.625]),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case(
        "binary, weighted",
        Binary(sigma=2.0, check=CHECK),
        3,
        scored([(6, "110"), (3, "001"), (1, "010")], "001"),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case(
        "tau, weighted",
        Tau(sigma=1.5, tau=1.0),
        4,
        scored([(6, "1110"), (4, "1000")], "0001"),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case(
        "powerset, weighted",
        Powerset(sigma=2.0),
        3,
        scored([(6, "110"), (3, "100"), (1, "001")], "111"),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case(
        "threshold, weighted",
        Threshold(sigma=2.0, share=0.3),
        2,
        voted([7, 3]),
        influence=_HEAVY,
        weights=_WEIGHTS,
    ),
    Case("threshold, two copies", Threshold(sigma=2.0, share=0.3), 2, _PAIR, influence=_TWO),
    Case("gnmax, two copies", GnMax(sigma=2.0), 3, _COPIES, influence=_TWO),
    Case("lnmax, two copies", LnMax(gamma=0.5), 3, _COPIES, influence=_TWO),
    Case(
        "confident, two copies",
        Confident(sigma1=3.0, sigma2=2.0, threshold=3.0),
        3,
        _COPIES,
        influence=_TWO,
    ),
    Case(
        "gnmax, three light copies",
        GnMax(sigma=1.5),
        3,
        _HALVES,
        influence=_LIGHT,
        weights=np.full(20, 0.5),
    ),
]
"""Neighbours of weighted PATE, with one heavier vote, and of upsampled PATE, with several moved votes."""

_LEFT_OUT = [(4, "110-"), (2, "0-1-"), (3, "-011"), (2, "-101")]


def _left_out(name: str, mechanism: Mechanism) -> Case:
    """Return a case in which parties omit different labels: the first teacher inverts all its votes."""
    bits = [row for teachers, row in _LEFT_OUT for _ in range(teachers)]
    mask = np.array([[bit == "-" for bit in row] for row in bits])
    return Case(name, mechanism, 4, scored(_LEFT_OUT, "001-"), abstains=mask)


ABSTAINING: list[Case] = [
    _left_out("binary, abstaining", Binary(sigma=2.0)),
    _left_out("binary, abstaining, checked", Binary(sigma=2.0, check=CHECK)),
    _left_out("tau, abstaining", Tau(sigma=1.5, tau=1.0)),
    _left_out("l1, abstaining, checked", L1(sigma=1.5, tau1=1.5, check=CHECK)),
]

_TELLING = Check(sigma=0.5, threshold=6.0)
_SIX_OF_NINE = scored([(6, "10"), (3, "01")], "01")

TELLING_CHECKS: list[Case] = [
    Case("confident", Confident(sigma1=0.5, sigma2=1000.0, threshold=6.0), 2, voted([6, 3])),
    Case(
        "interactive",
        Interactive(sigma1=0.5, sigma2=1000.0, threshold=3.0, confidence=0.9),
        2,
        voted([6, 3]),
        np.array([1 / 3, 2 / 3]),
    ),
    Case("binary, checked", Binary(sigma=1000.0, check=_TELLING), 2, _SIX_OF_NINE),
    Case("tau, checked", Tau(sigma=1000.0, tau=1.0, check=_TELLING), 2, _SIX_OF_NINE),
    Case("l1, checked", L1(sigma=1000.0, tau1=1.0, check=_TELLING), 2, _SIX_OF_NINE),
    Case("powerset, checked", Powerset(sigma=1000.0, check=_TELLING), 2, _SIX_OF_NINE),
]
"""Uninformative answers with informative checks: not charging for the check must be found."""
