"""How a student is trained on own and on released labels, by what was chosen."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from client.students.evaluation import Records, Trainer
from client.students.models import train
from client.students.released import Released
from common.task import Task


@dataclass(frozen=True)
class Choice:
    """What is trained.

    Attributes:
        student: the student by name, as the registry lists them.
        model: of the supervised student, "logistic_regression" or "mlp".
    """

    student: str = "supervised"
    model: str = "logistic_regression"


def trainer(choice: Choice, task: Task, released: Released | None, seed: int) -> Trainer:
    """What trains the chosen student on own records and the released ones, if any."""
    fit = partial(train, choice.model, standardize=task.input.preprocessing == "none", seed=seed)
    return partial(_classifier, fit, released)


def _classifier(fit: Callable[..., Any], released: Released | None, own: Records) -> Any:
    if released is None:
        return fit(*own)
    return fit(np.concatenate([own[0], released.X]), np.concatenate([own[1], released.y]))
