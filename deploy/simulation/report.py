"""What a simulation found, as it is written to report.json."""

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from common.mechanism import BOUND, Mechanism
from common.plan import ENCODING, ENFORCE, TALLY
from deploy.simulation.defaults import TaskKind
from deploy.simulation.holdings import Holding
from deploy.simulation.settings import Head, Settings
from deploy.simulation.together import Together

WHOLE = "all"
"""The group of a party whose records share one budget."""
WORST_CASE = "worst-case (holds whatever the votes were)"
DATA_DEPENDENT: dict[BOUND, str] = {
    "worst_case": WORST_CASE,
    "theorem6": "data-dependent (theorem6, one direction: it bounds D(M(D)||M(D')) for the votes that were "
    "cast, not D(M(D')||M(D)), and is itself private)",
    "exact": "data-dependent (exact, both directions: the largest divergence between the votes that were "
    "cast and any neighbour of them, and is itself private)",
}


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Charge(_Value):
    """A unit's totals after one released batch, ``seconds`` after labelling began."""

    batch: int
    seconds: float
    epsilon_worst_case: float
    epsilon_data_dependent: float


class Unit(_Value):
    """What one party's records were charged, in both notions, against their budget."""

    party: str
    group: str
    adjacency: str
    epsilon_worst_case: float
    epsilon_data_dependent: float
    bound: BOUND
    order: float
    enforce: ENFORCE
    epsilon_budget: float
    delta: float
    history: tuple[Charge, ...]

    @property
    def name(self) -> str:
        """The party, with its group of records where it has several."""
        return self.party if self.group == WHOLE else f"{self.party}/{self.group}"


class ClassCount(_Value):
    """How the queries of one true class fared."""

    name: str
    right: int
    wrong: int
    unanswered: int


class LabelCount(ClassCount):
    """How the answers for one label of a multi-label task fared.

    Accuracy and balanced accuracy are of the answers given; None where there are none.
    """

    accuracy: float | None
    balanced_accuracy: float | None


class Throughput(_Value):
    """Speed of labelling, from opening the session to its last answer."""

    queries_per_second: float
    answers_per_second: float
    votes_per_second: float


class Report(_Value):
    """Everything a simulation measured; ``seconds`` maps steps to wall time.

    ``classes`` counts queries by true class, ``labels`` answers by label: one of them is empty. Student and
    label metrics of a multi-label task are means over labels.
    """

    id: str
    version: str
    settings: Settings
    task: TaskKind
    mechanism: Mechanism
    enforce: ENFORCE
    bound: BOUND
    notions: dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]
    encoding: ENCODING
    tally: TALLY
    head: Head | None
    teachers: int
    queries: int
    asked: int
    answered: int
    by_student: int
    ended_early: bool
    label_accuracy: float | None
    label_balanced_accuracy: float | None
    student_accuracy_before: float
    student_accuracy_after: float
    student_balanced_accuracy_before: float
    student_balanced_accuracy_after: float
    training: Together | None
    holdings: tuple[Holding, ...]
    classes: tuple[ClassCount, ...]
    labels: tuple[LabelCount, ...]
    units: tuple[Unit, ...]
    seconds: dict[str, float]
    throughput: Throughput


def notions(bound: BOUND) -> dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]:
    """What each epsilon of the report means, in words."""
    return {"epsilon_worst_case": WORST_CASE, "epsilon_data_dependent": DATA_DEPENDENT[bound]}


def switch_words(encoding: ENCODING, tally: TALLY, head: Head | None) -> str:
    """Who saw queries and histograms, by the names of the two switches."""
    queries = f"encrypted (ckks, head {head})" if encoding == "ckks" else "seen by the parties (plain)"
    histograms = "seen by nobody (blind)" if tally == "blind" else "seen by the guardian (aggregate)"
    return f"queries {queries}, histograms {histograms}"


def notion(bound: BOUND) -> str:
    """What epsilons by a bound are called: by worst_case the same as what every page calls worst-case."""
    return "charged" if bound == "worst_case" else "data-dependent"


def bound_words(bound: BOUND) -> str:
    """A bound's name with the directions that it covers."""
    directions = {"exact": "both directions", "theorem6": "one direction", "worst_case": "any votes"}
    return f"{bound}, {directions[bound]}"


def count_classes(
    names: tuple[str, ...], truth: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[ClassCount, ...]:
    """Count each class's right, wrong and missing answers; ``labels`` (Q,) is -1 where none was given."""
    return tuple(
        ClassCount(
            name=name,
            right=int(np.sum((truth == index) & (labels == index))),
            wrong=int(np.sum((truth == index) & (labels != index) & (labels >= 0))),
            unanswered=int(np.sum((truth == index) & (labels < 0))),
        )
        for index, name in enumerate(names)
    )


def count_labels(
    names: tuple[str, ...], truth: NDArray[np.int64], labels: NDArray[np.int64]
) -> tuple[LabelCount, ...]:
    """Count each label's right, wrong and missing answers; ``labels`` (Q, k) is -1 where none was given."""
    return tuple(map(_count_label, names, truth.T, labels.T))


def _count_label(name: str, truth: NDArray[np.int64], labels: NDArray[np.int64]) -> LabelCount:
    given = labels >= 0
    right = truth[given] == labels[given]
    recalls = [right[truth[given] == bit].mean() for bit in np.unique(truth[given])]
    return LabelCount(
        name=name,
        right=int(right.sum()),
        wrong=int((~right).sum()),
        unanswered=int((~given).sum()),
        accuracy=float(right.mean()) if len(right) else None,
        balanced_accuracy=_mean(recalls),
    )


def label_accuracy(counts: Iterable[ClassCount]) -> float | None:
    """Share of the answers that are right; None where nothing was answered."""
    right, wrong = np.sum([(0, 0), *((count.right, count.wrong) for count in counts)], axis=0)
    return float(right / (right + wrong)) if right + wrong else None


def balanced_accuracy(classes: Iterable[ClassCount], labels: Iterable[LabelCount]) -> float | None:
    """Mean over classes of the share of their answers that are right, or over labels of theirs."""
    of_classes = [count.right / (count.right + count.wrong) for count in classes if count.right + count.wrong]
    of_labels = [count.balanced_accuracy for count in labels if count.balanced_accuracy is not None]
    return _mean([*of_classes, *of_labels])


def _mean(values: list[float]) -> float | None:
    return float(np.mean(values)) if values else None
