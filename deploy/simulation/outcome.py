"""What a simulation left, summed up in its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from client.answers import label_matrix
from client.labelling import LabelResult
from client.retraining import StudentResult
from client.state import load_state
from client.students.metrics import Metrics
from common.task import Task
from deploy.simulation.counts import balanced_accuracy, count_classes, count_labels, label_accuracy
from deploy.simulation.holdings import count_holdings
from deploy.simulation.notions import notions
from deploy.simulation.report import Charge, Report, Throughput, Unit
from deploy.simulation.settings import Settings
from deploy.simulation.split import Split
from deploy.simulation.together import Together
from guardian.admin.confidential import UnitReport

LABEL_THE_POOL = "label the pool"
"""The step that throughput is measured over."""


@dataclass(frozen=True)
class Outcome:
    """What the processes of a simulation left to report on.

    Attributes:
        started_unix_s: when labelling began.
        asked: for every record of the pool the query that stands for it, int64 (records,).
        training: how teachers learned together; None where each learned alone.
        labelling: what the run came to.
        retraining: the student before and after it.
        units: what every party was charged.
    """

    started_unix_s: float
    asked: NDArray[np.int64]
    training: Together | None
    labelling: LabelResult
    retraining: StudentResult
    units: Sequence[UnitReport]


def report_on(
    name: str,
    settings: Settings,
    split: Split,
    task: Task,
    outcome: Outcome,
    seconds: dict[str, float],
) -> Report:
    """The report of a simulation of records that were shared out as ``split``."""
    run, truth = outcome.labelling, split.truth
    released = _released(run.run, run.queries, task)[outcome.asked]
    classes = () if task.multi_label else count_classes(task.classes, truth, released)
    labels = count_labels(task.classes, truth, released) if task.multi_label else ()
    before, after = _measured(outcome.retraining.before), _measured(outcome.retraining.after)
    return Report(
        id=name,
        version=version("ostraka"),
        settings=settings,
        task="multilabel" if task.multi_label else "single",
        mechanism=settings.plan_mechanism,
        enforce=settings.enforce,
        bound=settings.charged_bound,
        notions=notions(settings.charged_bound),
        encoding=settings.encoding,
        tally=settings.tally,
        head=settings.teachers_head,
        teachers=settings.votes,
        queries=run.queries,
        asked=run.asked,
        answered=run.answered,
        by_student=run.by_student,
        ended_early=run.stopped is not None,
        label_accuracy=label_accuracy([*classes, *labels]),
        label_balanced_accuracy=balanced_accuracy(classes, labels),
        student_accuracy_before=before.accuracy,
        student_accuracy_after=after.accuracy,
        student_balanced_accuracy_before=before.balanced_accuracy,
        student_balanced_accuracy_after=after.balanced_accuracy,
        training=outcome.training,
        holdings=count_holdings(settings.sites, split.shards, len(task.classes)),
        classes=classes,
        labels=labels,
        units=tuple(_unit(unit, settings, outcome.started_unix_s) for unit in outcome.units),
        seconds={step: round(value, 3) for step, value in seconds.items()},
        throughput=_throughput(run, settings, seconds),
    )


def _throughput(run: LabelResult, settings: Settings, seconds: dict[str, float]) -> Throughput:
    rate = 1 / seconds[LABEL_THE_POOL]
    return Throughput(
        queries_per_second=run.asked * rate,
        answers_per_second=run.answered * rate,
        votes_per_second=run.asked * settings.votes * rate,
    )


def _measured(metrics: Metrics | None) -> Metrics:
    assert metrics is not None  # noqa: S101 - there are test records
    return metrics


def _released(run: Path, queries: int, task: Task) -> NDArray[np.int64]:
    """Released classes (queries,), or bits (queries, labels), -1 where there is none."""
    answers = load_state(run).answers()
    if task.multi_label:
        return label_matrix([answers.get(query) for query in range(queries)], len(task.classes))
    labels: list[Any] = [answers.get(query) for query in range(queries)]
    return np.array([-1 if label is None else label for label in labels], np.int64)


def _unit(unit: UnitReport, settings: Settings, started_unix_s: float) -> Unit:
    history = tuple(
        Charge(
            batch=charge["batch"],
            seconds=charge["released_unix_ms"] / 1000 - started_unix_s,
            epsilon_worst_case=charge["epsilon_worst_case"],
            epsilon_data_dependent=charge["epsilon_data_dependent"],
        )
        for charge in unit["history"]
    )
    return Unit.model_validate({**unit, "bound": settings.charged_bound, "history": history})
