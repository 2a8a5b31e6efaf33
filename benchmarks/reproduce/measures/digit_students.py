"""Table 8 of Mühl and Boenisch 2022: students of MNIST, by how their labels were paid for."""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import chain

import numpy as np

from benchmarks.personalized import data
from benchmarks.personalized.budgets import NOTIONS, PAPER, WORST, Notion
from benchmarks.personalized.configurations import Configuration, Key, upsampling, without_copies
from benchmarks.personalized.data import Records, Split
from benchmarks.personalized.digit_students import MIN_STEPS, VAT_STEPS, Student, accuracy, network, vat
from benchmarks.personalized.teachers import Ensembles
from benchmarks.personalized.variants import Produced
from benchmarks.reproduce.cell import Figure, Job, Outcome
from benchmarks.reproduce.measures import by_budget
from benchmarks.reproduce.measures.groups import votes_of_histograms
from benchmarks.reproduce.measures.personalized_ensembles import ensembles_of

HEADLINE: tuple[Key, ...] = (("minimum", 1, 0), ("w", 2, 50))
"""One budget of log 2 for all, and log 4 for half by weighting: the comparison in the paper's text."""
STUDENT = 1
"""Prefix of students' seeds, so their draws differ from those of the votes."""
QUICK_STEPS = 5
"""Training steps of students in quick runs."""


def students(job: Job) -> Outcome:
    """Table 8, with the teachers of Table 3, trained if they are not cached."""
    plain, *others = ensembles_of("mnist", quick=job.quick)
    split = data.load(plain.dataset)
    kept = Ensembles(job.folder / "personalized")
    without = without_copies(kept.votes(plain, split, _untold), plain.dataset)
    return _students(
        chain(without, (upsampling(one, kept.votes(one, split, _untold)) for one in others)), split, job
    )


def students_by_published_votes(job: Job) -> Outcome:
    """Table 8 without upsampling, with published votes; no teacher is trained."""
    return _students(without_copies(votes_of_histograms(0), "mnist"), _as_published(), job)


def _students(configurations: Iterable[Configuration], split: Split, job: Job) -> Outcome:
    wanted = HEADLINE if job.quick else by_budget.students("mnist").keys()
    found = {
        one.key: _accuracies(_train_students(job)["student"], _produce(one, PAPER, job), split, job)
        for one in configurations
        if one.key in wanted
    }
    return Outcome(by_budget.student_figures("mnist", found, compared=not job.quick))


def students_by_bound(job: Job) -> Outcome:
    """Measure the comparison in the paper's text, for each way to count costs and for other students too."""
    plain = ensembles_of("mnist", quick=job.quick)[0]
    split = data.load(plain.dataset)
    votes = Ensembles(job.folder / "personalized").votes(plain, split, _untold)
    produced = {
        (one.key, notion): _produce(one, notion, job)
        for one in without_copies(votes, plain.dataset)
        if one.key in HEADLINE
        for notion in NOTIONS
    }
    published = {} if job.quick else by_budget.students("mnist")
    figures = [
        Figure(
            by_budget.name_of(key, f"{notion.name}: {name}, %"),
            _accuracies(student, labels, split, job),
            None if notion is WORST else published.get(key),
            "higher",
            close=0.03,
        )
        for name, student in _train_students(job).items()
        for (key, notion), labels in produced.items()
        if not (name == "VAT" and notion is PAPER)
    ]
    counts = [
        Figure(
            by_budget.name_of(key, f"{notion.name}: labels"),
            tuple(float(len(one.rows)) for one in labels),
        )
        for (key, notion), labels in produced.items()
    ]
    return Outcome((*figures, *counts))


def _train_students(job: Job) -> dict[str, Student]:
    """Return the paper's student, and two of Ostraka: one also uses the public records without a label."""
    least, steps = (QUICK_STEPS, QUICK_STEPS) if job.quick else (MIN_STEPS, VAT_STEPS)
    return {
        "student": partial(network, least=least),
        "VAT": partial(vat, steps=steps),
        "cnn": partial(network, model="cnn", least=least),
    }


def _produce(one: Configuration, notion: Notion, job: Job) -> list[Produced]:
    return [one.process(notion, np.random.default_rng(seed)) for seed in job.seeds]


def _accuracies(student: Student, produced: Sequence[Produced], split: Split, job: Job) -> tuple[float, ...]:
    """Return the accuracy in % of a student of each seed's labels."""
    return tuple(
        100 * accuracy(student, labels, split, np.random.default_rng((STUDENT, seed)))
        for seed, labels in zip(job.seeds, produced, strict=True)
    )


def _as_published() -> Split:
    """Return MNIST as for the published votes: the first test images are public, in order."""
    with np.load(data.path("mnist")) as arrays:
        X = arrays["X_test"].astype(np.float32) / np.float32(255)
        y = arrays["y_test"].astype(np.int64)
    public = data.PARAMETERS["mnist"].public
    return Split(Records(X[:0], y[:0]), Records(X[:public], y[:public]), Records(X[public:], y[public:]))


def _untold(done: int) -> None:
    """Do nothing."""
