"""One querying party that asks all others, and its student."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.learn import learn
from ostraka.client.retraining.retraining import retrain
from ostraka.client.run.dependency_rules import write_dependencies
from ostraka.client.run.labelling import LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import Choice
from ostraka.common.datasets import save
from ostraka.deploy.simulation.clusters import members, representatives
from ostraka.deploy.simulation.federation import QUERY
from ostraka.deploy.simulation.inputs import LABEL_THE_POOL, SimulationContext
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.query_outcome import QueryOutcome, outcome_of, released_labels, require_answers
from ostraka.deploy.simulation.settings import Settings

RUN = "run"


def ask(context: SimulationContext) -> QueryOutcome:
    """Label the querying party's pool and retrain its student.

    Raises what labelling and retraining raise, and why no query could be asked.
    """
    site = context.federation.site(QUERY)
    pool, asked = _pool(site, context)
    labelling = label_pool(context, site, pool, plan_options(context.settings), first_student(context, site))
    require_answers(labelling)
    students = retrain_on(context, site, pool, labelling)
    released = released_labels(labelling.run, context.settings.queries, context.task)[asked]
    return outcome_of(QUERY, labelling, students, released, context.split.truth[: len(asked)])


def label_pool(
    context: SimulationContext, site: Path, pool: Path, options: PlanOptions, student: Path | None = None
) -> LabelResult:
    """Ask about a pool, about implied labels last where the settings say so."""
    if context.settings.dependencies:
        return _label_by_dependencies(context, site, pool, options)
    with context.watch.step(LABEL_THE_POOL):
        return label(
            site,
            pool,
            options,
            site / RUN,
            student=student,
            on_progress=context.on_progress,
            on_step=context.on_step,
        )


def _label_by_dependencies(
    context: SimulationContext, site: Path, pool: Path, options: PlanOptions
) -> LabelResult:
    """Leave out labels that others imply."""
    rules = learn_rules(context, site)
    with context.watch.step(LABEL_THE_POOL):
        return label_by_dependencies(
            site,
            pool,
            options,
            site / RUN,
            dependencies=rules,
            on_progress=context.on_progress,
            on_step=context.on_step,
        )


def learn_rules(context: SimulationContext, site: Path) -> Path:
    """Learn on own labelled records which labels imply others; return the file of these rules."""
    rules = site / "dependencies.toml"
    with context.watch.step("learn dependencies"):
        write_dependencies(learn(context.task.load(site / "labelled.npz").labels(), context.task), rules)
    return rules


def retrain_on(context: SimulationContext, site: Path, pool: Path, labelling: LabelResult) -> StudentResult:
    """Return a querying site's student before and after its labelling; the same if that gave no label."""
    told = labelling.answered + labelling.by_student > 0
    with context.watch.step("retrain the student"):
        return retrain(
            site,
            site / "labelled.npz",
            labelling.run if told else None,
            pool if told else None,
            test=site / "test.npz",
            out=None if told else site / "student.skops",
            choice=choice_of(context.settings),
            seed=context.settings.seed,
            progress=context.on_training,
        )


def choice_of(settings: Settings) -> Choice:
    """Who learns, and how."""
    denoising = settings.learner == "denoise-ssl"
    return Choice(
        student=settings.learner,
        steps=settings.steps,
        clusters=settings.clusters if denoising else None,
        epsilon=settings.student_epsilon,
        delta=settings.student_delta,
    )


def _pool(site: Path, context: SimulationContext) -> tuple[Path, NDArray[np.int64]]:
    """Return the file of queries and, for every record of the pool, the query that represents it."""
    settings, split = context.settings, context.split
    if settings.mechanism != "noise_cluster" or settings.label_dp is not None:
        return site / "pool.npz", np.arange(settings.queries)
    with context.watch.step("cluster the pool"):
        rows = representatives(split.pool, context.task, settings.clusters, settings.seed)
        centres = site / "centres.npz"
        save(split.pool.take(rows), centres)
        return centres, members(split.pool, context.task, rows)


def first_student(context: SimulationContext, site: Path) -> Path | None:
    """Return the student of a querying party's own labels, with which Interactive asks; else None."""
    if context.settings.mechanism != "interactive":
        return None
    with context.watch.step("train the first student"):
        first = site / "first-student.skops"
        seed = context.settings.seed
        return retrain(site, site / "labelled.npz", test=site / "test.npz", out=first, seed=seed).path
