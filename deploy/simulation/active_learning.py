"""A querying party that labels, trains, and asks about what its student does not know (002, section 4.3)."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import TypeAdapter

from ostraka.client.rounds.learning import learn_in_rounds
from ostraka.client.rounds.rounds_options import Rounds
from ostraka.client.rounds.rounds_report import report
from ostraka.client.rounds.rounds_state import load_rounds, round_folder
from ostraka.client.run.labelling import LabelResult
from ostraka.client.students.accuracy import Metrics
from ostraka.common.mechanism import Interactive
from ostraka.deploy.simulation.defaults import default_parameters
from ostraka.deploy.simulation.federation import QUERY
from ostraka.deploy.simulation.inputs import LABEL_THE_POOL, Scene
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.quality import Round
from ostraka.deploy.simulation.query_outcome import Asked, released_labels
from ostraka.deploy.simulation.querying_party import RUN, choice_of
from ostraka.deploy.simulation.settings import Settings

_METRICS = TypeAdapter(Metrics)


def ask_in_rounds(scene: Scene) -> tuple[Asked, tuple[Round, ...]]:
    """Label half of the pool in rounds, and what each round came to.

    Raises what labelling and retraining raise, and why the first round got nothing.
    """
    site, settings = scene.federation.site(QUERY), scene.settings
    done: dict[int, LabelResult] = {}

    def told(number: int, result: LabelResult) -> None:
        done[number] = result
        scene.on_progress(replace(result, queries=settings.asked_in_rounds, asked=_sum(done, "asked")))

    with scene.watch.step(LABEL_THE_POOL):
        result = learn_in_rounds(
            site,
            site / "pool.npz",
            rounds_of(settings),
            site / RUN,
            labelled=site / "labelled.npz",
            test=site / "test.npz",
            choice=choice_of(settings),
            seed=settings.seed,
            on_labels=told,
        )
    figures = report(result.folder, delta=settings.delta)
    asked = _asked(scene, figures, ended_early=result.stopped is not None)
    return asked, tuple(_round(one) for one in figures["rounds"])


def rounds_of(settings: Settings) -> Rounds:
    """How the pool is asked about: first as the settings say, then by interactive with as much noise."""
    suiting = default_parameters("interactive", settings.votes)
    noise = {name: getattr(settings, name) for name in ("sigma1", "sigma2")}
    given = {name: value for name, value in noise.items() if value is not None}
    return Rounds(
        count=settings.label_rounds,
        queries=settings.asked_in_rounds // settings.label_rounds,
        first=plan_options(settings),
        later=Interactive.model_validate({**suiting, **given}),
    )


def _asked(scene: Scene, figures: Mapping[str, Any], *, ended_early: bool) -> Asked:
    folder = scene.federation.site(QUERY) / RUN
    parts = [np.array(one.rows) for one in load_rounds(folder).rounds]
    released = [
        released_labels(round_folder(folder, number), len(rows), scene.task)
        for number, rows in enumerate(parts, 1)
    ]
    rounds, student = figures["rounds"], figures["student"]
    return Asked(
        site=QUERY,
        labelled=student["labelled"],
        queries=scene.settings.asked_in_rounds,
        asked=sum(one["asked"] for one in rounds),
        answered=sum(one["answered"] for one in rounds),
        by_student=sum(one["by_student"] for one in rounds),
        implied=0,
        ended_early=ended_early,
        released=np.concatenate(released),
        truth=scene.split.truth[np.concatenate(parts)],
        before=_METRICS.validate_python(student["before"]),
        after=_METRICS.validate_python(student["after"]),
    )


def _round(figures: Mapping[str, Any]) -> Round:
    return Round.model_validate({name: figures[name] for name in Round.model_fields})


def _sum(done: Mapping[int, LabelResult], name: str) -> int:
    return sum(getattr(result, name) for result in done.values())
