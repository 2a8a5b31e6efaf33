"""Table 1 and Figure 2 of Dodwadmath and Stich 2022, by `benchmarks.heterogeneity`."""

from collections.abc import Iterator
from pathlib import Path

from benchmarks.heterogeneity import data, measures, paper
from benchmarks.heterogeneity.cells import Cell, cells
from benchmarks.heterogeneity.data import Split
from benchmarks.heterogeneity.measures import QUERIES, Setting, measure
from benchmarks.heterogeneity.plot import GAMMAS, label_accuracy
from benchmarks.heterogeneity.teachers import SIMILARITIES, Training, training_rdp, votes
from benchmarks.reproduce.cell import Claim, Figure, Job, Outcome

PUBLISHED = (Training.CONVENTIONAL, Training.TTAC)


def students(job: Job) -> Outcome:
    """Table 1: students by LNMax, next to the published ones."""
    if job.quick:
        return _small(job)
    figures = tuple(
        Figure(
            f"S={key[0]}, {key[1]:,} queries, gamma {key[2]:g}, {cell.training}: student, %",
            found,
            said,
            "higher",
        )
        for cell in cells(PUBLISHED, data.load(), _folder(job), lambda: None)
        for key, found, said in _students(cell)
    )
    return Outcome(figures)


def accuracy_of_labels(job: Job) -> Outcome:
    """Figure 2: accuracy of labels from noisy votes; jointly trained teachers are more similar."""
    if job.quick:
        return _small(job)
    split = data.load()
    cast = {
        (similarity, training): votes(training, similarity, split, _folder(job))
        for similarity in SIMILARITIES
        for training in PUBLISHED
    }
    found = {(*key, gamma): label_accuracy(cast[key], split, gamma) for key in cast for gamma in GAMMAS}
    figures = [
        Figure(f"S={similarity}, gamma {gamma:g}, {training}: right, %", (100 * value,), better="higher")
        for (similarity, training, gamma), value in found.items()
    ]
    better = all(
        found[0, Training.TTAC, gamma] > found[0, Training.CONVENTIONAL, gamma] for gamma in measures.GAMMAS
    )
    return Outcome(
        tuple(figures), (Claim("at S=0 teachers that learn together are right more often", better),)
    )


def _folder(job: Job) -> Path:
    """Return the cache folder of the shared teachers' votes."""
    return job.folder / "heterogeneity"


def _students(cell: Cell) -> Iterator[tuple[paper.Key, tuple[float, ...], float | None]]:
    said = paper.TABLE[cell.training.value]
    for queries in QUERIES:
        for gamma in measures.GAMMAS:
            key = (cell.similarity, queries, gamma)
            students = cell.measures[Setting(gamma, queries, confident=False)].students
            yield key, tuple(100 * student for student in students), said.get(key)


def _small(job: Job) -> Outcome:
    """Return one ensemble of few records, asked a hundred times."""
    whole = data.load()
    split = Split(whole.private.rows(slice(2000)), whole.public.rows(slice(500)), whole.test.rows(slice(200)))
    setting = Setting(0.5, 100, confident=False)
    cast = votes(Training.CONVENTIONAL, 100, split, _folder(job))
    found = measure(cast, split, setting, training_rdp(Training.CONVENTIONAL))
    return Outcome((Figure("S=100, 100 queries, gamma 0.5: right, %", (100 * (found.labels or 0.0),)),))
