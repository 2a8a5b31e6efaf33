"""Results of a simulation, summed up in its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from ostraka.client.students.accuracy import Metrics
from ostraka.common.task import Task
from ostraka.deploy.simulation.counts import (
    balanced_accuracy,
    count_classes,
    count_holdings,
    count_labels,
    label_accuracy,
)
from ostraka.deploy.simulation.plan import plan_of
from ostraka.deploy.simulation.quality import Quality, QuerierQuality, RoundQuality, mean_metrics
from ostraka.deploy.simulation.querying_party import LABEL_THE_POOL, QueryOutcome
from ostraka.deploy.simulation.report import (
    Guarantee,
    RecordSplit,
    SimulationReport,
    SpendingPoint,
    Throughput,
    TrainingSummary,
    UnitSpending,
    notions,
    promise_words,
)
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split
from ostraka.guardian.admin.confidential import UnitReport


@dataclass(frozen=True)
class SimulationOutcome:
    """What the processes of a simulation left to report on.

    Attributes:
        started_unix_s: when labelling began.
        training: how teachers learned together; None where each learned alone.
        asked: what each querying party came to, in the order in which they asked.
        ensemble: figures of all teachers together, asked without privacy.
        ensemble_records: test records that these figures are of.
        rounds: what each round of labels came to; none where all was asked at once.
        units: what every party was charged.
    """

    started_unix_s: float
    training: TrainingSummary | None
    asked: Sequence[QueryOutcome]
    ensemble: Metrics
    ensemble_records: int
    rounds: Sequence[RoundQuality]
    units: Sequence[UnitReport]


def report_on(
    name: str,
    settings: Settings,
    split: Split,
    task: Task,
    outcome: SimulationOutcome,
    seconds: dict[str, float],
) -> SimulationReport:
    """Return the report of a simulation of records that were shared out as ``split``."""
    asked = outcome.asked
    truth = np.concatenate([one.truth for one in asked])
    released = np.concatenate([one.released for one in asked])
    classes = () if task.multi_label else count_classes(task.classes, truth, released)
    labels = count_labels(task.classes, truth, released) if task.multi_label else ()
    guarantee: Guarantee = "none" if settings.training == "ttac" else settings.adjacency
    before = mean_metrics([one.before for one in asked])
    after = mean_metrics([one.after for one in asked])
    promised = [one.guarantee for one in asked if one.guarantee is not None]
    return SimulationReport(
        id=name,
        version=version("ostraka"),
        settings=settings,
        task="multilabel" if task.multi_label else "single",
        mechanism=settings.plan_mechanism,
        guarantee=guarantee,
        enforce=settings.enforce,
        bound=settings.charged_bound,
        notions=notions(settings.charged_bound, guarantee),
        encoding=settings.encoding,
        tally=settings.tally,
        ballots=plan_of(settings, settings.queries, task).ballots,
        head=settings.teachers_head,
        teachers=settings.votes,
        **_counts(asked),
        ended_early=any(one.ended_early for one in asked),
        label_accuracy=label_accuracy([*classes, *labels]),
        label_balanced_accuracy=balanced_accuracy(classes, labels),
        student=settings.learner,
        **_accuracies("before", before),
        **_accuracies("after", after),
        notes=split.notes,
        records=RecordSplit(
            labelled=len(split.labelled),
            pool=0 if settings.label_dp is not None else len(split.pool),
            test=len(split.test),
            parties=sum(map(len, split.shards)),
        ),
        gain=asked[0].gain if len(asked) == 1 else None,
        student_guarantee=max(promised, key=lambda one: one.epsilon) if promised else None,
        quality=Quality(
            own=before, after=after, ensemble=outcome.ensemble, ensemble_records=outcome.ensemble_records
        ),
        turns=tuple(map(_turn, asked)) if settings.queriers else (),
        rounds=tuple(outcome.rounds),
        training=outcome.training,
        holdings=count_holdings(settings.sites, split.shards, len(task.classes)),
        classes=classes,
        labels=labels,
        units=tuple(_unit(unit, settings, guarantee, outcome.started_unix_s) for unit in outcome.units),
        seconds={step: round(value, 3) for step, value in seconds.items()},
        throughput=_throughput(asked, settings, seconds),
    )


def _counts(asked: Sequence[QueryOutcome]) -> dict[str, Any]:
    """Return how many queries of all querying parties were wanted, asked and answered."""
    names = ("queries", "asked", "answered", "by_student", "implied")
    return {name: sum(getattr(one, name) for one in asked) for name in names}


def _accuracies(when: str, student: Metrics) -> dict[str, Any]:
    return {
        f"student_accuracy_{when}": student.accuracy,
        f"student_balanced_accuracy_{when}": student.balanced_accuracy,
    }


def _turn(asked: QueryOutcome) -> QuerierQuality:
    return QuerierQuality(
        party=asked.site,
        labelled=asked.labelled,
        queries=asked.queries,
        asked=asked.asked,
        answered=asked.answered,
        before=asked.before,
        after=asked.after,
    )


def _throughput(asked: Sequence[QueryOutcome], settings: Settings, seconds: dict[str, float]) -> Throughput:
    rate = 1 / seconds[LABEL_THE_POOL]
    queries = sum(one.asked for one in asked)
    return Throughput(
        queries_per_second=queries * rate,
        answers_per_second=sum(one.answered for one in asked) * rate,
        votes_per_second=queries * settings.votes * rate,
    )


def _unit(unit: UnitReport, settings: Settings, guarantee: Guarantee, started_unix_s: float) -> UnitSpending:
    history = tuple(
        SpendingPoint(
            batch=charge["batch"],
            seconds=charge["released_unix_ms"] / 1000 - started_unix_s,
            epsilon_worst_case=charge["epsilon_worst_case"],
            epsilon_data_dependent=charge["epsilon_data_dependent"],
        )
        for charge in unit["history"]
    )
    more = {"notion": promise_words(guarantee), "bound": settings.charged_bound, "history": history}
    return UnitSpending.model_validate({**unit, **more})
