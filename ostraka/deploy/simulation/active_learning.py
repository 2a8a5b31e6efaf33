"""A querying party that labels, trains, and asks about what its student does not know.

Papernot et al. 2018, section 4.3.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ostraka.client.report.run_report import of_rounds
from ostraka.client.rounds.learning import learn_in_rounds
from ostraka.client.rounds.rounds_options import BEFORE_INTERACTIVE, Rounds
from ostraka.client.run.labelling import LabelResult
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.rounds_state import load_rounds, round_folder
from ostraka.client.students.accuracy import Metrics
from ostraka.common.config import load_site
from ostraka.common.mechanism import Mechanism
from ostraka.common.mechanism.arguments import make_mechanism, split_mechanism
from ostraka.deploy.simulation.defaults import default_parameters
from ostraka.deploy.simulation.quality import RoundQuality
from ostraka.deploy.simulation.querying_party import (
    LABEL_THE_POOL,
    RUN,
    QueryOutcome,
    SimulationContext,
    choice_of,
    learn_rules,
    released_labels,
)
from ostraka.deploy.simulation.settings import Settings

_METRICS = TypeAdapter(Metrics)


def ask_in_rounds(
    context: SimulationContext, site: Path, truth: NDArray[np.int64], options: PlanOptions
) -> tuple[QueryOutcome, tuple[RoundQuality, ...]]:
    """Label half of a site's pool in rounds; return what it learned, and what each round came to.

    `truth` is what would be right, of every record of the pool, and `options` are of the first round. Raises
    what labelling and retraining raise, and why the first round got nothing.
    """
    settings = context.settings
    rules = learn_rules(context, site) if settings.dependencies else None
    done: dict[int, LabelResult] = {}

    def told(number: int, result: LabelResult) -> None:
        done[number] = result
        context.on_progress(replace(result, queries=settings.round_queries, asked=_sum(done, "asked")))

    with context.watch.step(LABEL_THE_POOL):
        result = learn_in_rounds(
            site,
            site / "pool.npz",
            rounds_of(settings, options, rules),
            site / RUN,
            labelled=site / "labelled.npz",
            test=site / "test.npz",
            on_labels=told,
            on_training=context.on_training,
        )
    figures = of_rounds(result.folder, delta=settings.delta)
    asked = _asked(context, site, truth, figures, ended_early=result.stopped is not None)
    return asked, tuple(_round(one) for one in figures["rounds"])


def rounds_of(settings: Settings, options: PlanOptions, rules: Path | None = None) -> Rounds:
    """Return how a pool is asked about, first by `options`, and with which dependencies."""
    return Rounds(
        count=settings.label_rounds,
        queries=settings.round_queries // settings.label_rounds,
        first=options,
        later=_later(settings),
        student=choice_of(settings),
        seed=settings.seed,
        dependencies=rules,
    )


def _later(settings: Settings) -> Mechanism:
    """Return interactive with as much noise where it can follow, else the mechanism of the first round."""
    kind, parameters = split_mechanism(settings.mechanism)
    if kind not in BEFORE_INTERACTIVE or settings.tally == "blind":
        return settings.plan_mechanism
    suiting: dict[str, object] = dict(default_parameters("interactive", settings.votes))
    given = {name: parameters[name] for name in ("sigma1", "sigma2") if name in parameters}
    return make_mechanism("interactive", **suiting | given)


def _asked(
    context: SimulationContext,
    site: Path,
    truth: NDArray[np.int64],
    figures: Mapping[str, Any],
    *,
    ended_early: bool,
) -> QueryOutcome:
    folder = site / RUN
    parts = [np.array(one.rows) for one in load_rounds(folder).rounds]
    released = [
        released_labels(round_folder(folder, number), len(rows), context.task)
        for number, rows in enumerate(parts, 1)
    ]
    rounds, student = figures["rounds"], figures["student"]
    return QueryOutcome(
        site=load_site(site).site,
        labelled=student["labelled"],
        queries=context.settings.round_queries,
        asked=sum(one["asked"] for one in rounds),
        answered=sum(one["answered"] for one in rounds),
        by_student=sum(one["by_student"] for one in rounds),
        implied=sum(one["implied"] for one in rounds),
        ended_early=ended_early,
        released=np.concatenate(released),
        truth=truth[np.concatenate(parts)],
        before=_METRICS.validate_python(student["before"]),
        after=_METRICS.validate_python(student["after"]),
        gain=None,
        guarantee=None,
    )


def _round(figures: Mapping[str, Any]) -> RoundQuality:
    return RoundQuality.model_validate({name: figures[name] for name in RoundQuality.model_fields})


def _sum(done: Mapping[int, LabelResult], name: str) -> int:
    return sum(getattr(result, name) for result in done.values())
