"""Configurations, each measured once and cached."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.heterogeneity.data import CLASSES, Split
from benchmarks.heterogeneity.measures import Measure, Setting, measure, settings
from benchmarks.heterogeneity.networks import Votes
from benchmarks.heterogeneity.teachers import SIMILARITIES, Training, training_rdp, votes
from benchmarks.heterogeneity.voting import histograms, plurality_accuracy


@dataclass(frozen=True)
class Cell:
    """One ensemble.

    Attributes:
        training: how its teachers were trained.
        similarity: percentage of their records that were distributed at random.
        votes: of its teachers on the public records, uint8 (teachers, public).
        teacher: accuracy of one teacher.
        plurality: accuracy of the class with most votes.
        measures: results of each setting.
    """

    training: Training
    similarity: int
    votes: Votes
    teacher: float
    plurality: float
    measures: dict[Setting, Measure]


def cells(
    trainings: Sequence[Training], split: Split, cache: Path, advance: Callable[[], None]
) -> Iterator[Cell]:
    """Yield the ensembles of these trainings; `advance` is called after each."""
    for similarity in SIMILARITIES:
        for training in trainings:
            cast = votes(training, similarity, split, cache)
            y = split.public.y
            yield Cell(
                training=training,
                similarity=similarity,
                votes=cast,
                teacher=float((cast == y).mean()),
                plurality=plurality_accuracy(histograms(cast, CLASSES), y),
                measures={
                    setting: _measure(cast, training, similarity, setting, split, cache)
                    for setting in settings()
                },
            )
            advance()


def as_json(cell: Cell) -> dict[str, object]:
    """Return all of a cell except its votes, as JSON types."""
    rows = [asdict(setting) | asdict(found) for setting, found in cell.measures.items()]
    return {
        "training": cell.training.value,
        "similarity": cell.similarity,
        "teacher": cell.teacher,
        "plurality": cell.plurality,
        "measures": rows,
    }


def _measure(
    cast: Votes, training: Training, similarity: int, setting: Setting, split: Split, cache: Path
) -> Measure:
    file = cache / f"{training}-{similarity}-{setting.name}.json"
    if not file.exists():
        file.write_text(json.dumps(asdict(measure(cast, split, setting, training_rdp(training)))))
    kept = json.loads(file.read_text())
    return Measure(**kept | {"students": tuple(kept["students"])})
