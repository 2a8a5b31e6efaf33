"""What a simulation found, as it is written to report.json."""

from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from common.plan import BOUND, ENFORCE
from deploy.simulation.settings import Settings

DATA_DEPENDENT = (
    "data-dependent ({bound}, one direction: it bounds D(M(D)||M(D')) alone, and is itself private)"
)
WORST_CASE = "worst-case (holds whatever the votes were)"


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


class ClassCount(_Value):
    """How the queries of one true class fared."""

    name: str
    right: int
    wrong: int
    unanswered: int


class Throughput(_Value):
    """Speed of labelling, from opening the session to its last answer."""

    queries_per_second: float
    answers_per_second: float
    votes_per_second: float


class Report(_Value):
    """Everything a simulation measured; ``seconds`` maps steps to wall time."""

    id: str
    version: str
    settings: Settings
    enforce: ENFORCE
    bound: BOUND
    notions: dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]
    teachers: int
    threshold: float | None
    queries: int
    asked: int
    answered: int
    ended_early: bool
    label_accuracy: float | None
    student_accuracy_before: float
    student_accuracy_after: float
    classes: tuple[ClassCount, ...]
    units: tuple[Unit, ...]
    seconds: dict[str, float]
    throughput: Throughput


def notions(bound: BOUND) -> dict[Literal["epsilon_worst_case", "epsilon_data_dependent"], str]:
    """What each epsilon of the report means, in words."""
    words = WORST_CASE if bound == "worst_case" else DATA_DEPENDENT.format(bound=bound)
    return {"epsilon_worst_case": WORST_CASE, "epsilon_data_dependent": words}


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


def label_accuracy(counts: tuple[ClassCount, ...]) -> float | None:
    """Share of the answers that are right; None where nothing was answered."""
    right, wrong = (sum(getattr(count, kind) for count in counts) for kind in ("right", "wrong"))
    return right / (right + wrong) if right + wrong else None
