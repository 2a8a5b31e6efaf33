"""Split of records: a shard for every party; labelled records, a pool and test records for querying."""

from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZipFile, is_zipfile

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import TEST_FRACTION, Dataset, digits, load, load_splits
from ostraka.common.datasets.label_columns import default_names
from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.datasets.reading import Reading
from ostraka.common.datasets.table_files import is_table, kind_of, read_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, load_task
from ostraka.common.task.table_proposal import TaskProposal, propose_task
from ostraka.deploy.simulation.defaults import TaskKind, task_kind
from ostraka.deploy.simulation.schemes import Shards, by_values, dirichlet, iid, label_sorted, with_consent
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_parts import RecordSettings

_LISTED = 10
"""Number of columns in an error."""


def shard_rows(data: Dataset, settings: Settings, random: np.random.Generator) -> Shards:
    """Return the rows of every party, in the order of the settings' sites, by the settings' split.

    Raises:
        OstrakaError: `config.invalid` for a split by class of records with several labels, an unknown column,
            or one with fewer values than parties; `data.too_few` if a party has more teachers than records.
    """
    records = settings.records
    shards = _shards(data, records, random)
    if records.by is None:
        shards = _keep_persons(shards, data.ids, random)
    sizes = [len(rows) for rows in shards]
    least = int(np.argmin(sizes))
    teachers = settings.teachers
    if sizes[least] < max(1, teachers):
        shared, asked = (f", for {teachers} teachers", "teachers or parties") if teachers else ("", "parties")
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"The data are too few: split {records.split} gives {settings.sites[least]} {sizes[least]} of "
            f"{len(data)} records{shared}. Ask for fewer {asked}, try another seed or a milder split, or "
            "bring more.",
        )
    return shards


def _keep_persons(shards: Shards, ids: tuple[str, ...] | None, random: np.random.Generator) -> Shards:
    """Return shards in which all records of an id are at one of the parties that have any of them."""
    if ids is None or len(set(ids)) == len(ids):
        return shards
    held = [(row, party) for party, rows in enumerate(shards) for row in rows.tolist()]
    owners: dict[str, int] = {}
    kept: list[list[int]] = [[] for _ in shards]
    for place in random.permutation(len(held)).tolist():
        row, party = held[place]
        # Records without an id are separate.
        kept[owners.setdefault(ids[row], party) if ids[row] else party].append(row)
    return tuple(np.array(rows, np.int64) for rows in kept)


def _shards(data: Dataset, records: RecordSettings, random: np.random.Generator) -> Shards:
    if records.similarity is not None:
        return label_sorted(_require_one(data, records), records.parties, records.similarity, random)
    if records.alpha is not None:
        return dirichlet(_classes(data, records), records.parties, records.alpha, random)
    if records.by is not None:
        return _by_column(data, records, records.by)
    return iid(len(data), records.parties, random)


def _by_column(data: Dataset, records: RecordSettings, column: str) -> Shards:
    if column not in data.columns:
        raise _unknown(data, records, column)
    try:
        return by_values(data.X[:, data.columns.index(column)], records.parties)
    except ValueError as error:
        raise _invalid(
            f"Setting by: column '{column}' has {error}, and no value may be at two of them; simulate fewer "
            "parties or split by another column."
        ) from error


def _require_one(data: Dataset, records: RecordSettings) -> NDArray[np.int64 | np.float64]:
    """Return the class or number of each record; raise `config.invalid` if it has several labels."""
    if data.multi_label:
        raise _invalid(
            f"Setting split: {records.split} is by class, and the records of {records.data} have several "
            "labels each; split by column or iid."
        )
    return data.targets()


def _classes(data: Dataset, records: RecordSettings) -> NDArray[np.int64]:
    _require_one(data, records)
    if data.numeric:
        raise _invalid(
            f"Setting split: {records.split} is by class, and the records of {records.data} have a number"
            " each; split label-sorted, by column or iid."
        )
    return data.labels()


def _unknown(data: Dataset, records: RecordSettings, column: str) -> OstrakaError:
    if column in records.label.split(","):
        return _invalid(
            f"Setting by: '{column}' is the label; split label-sorted with similarity 0 to share out by it."
        )
    listed = ", ".join(data.columns[:_LISTED]) + (", ..." if len(data.columns) > _LISTED else "")
    return _invalid(
        f"Setting by: {records.data} has no column '{column}', but {listed}; correct it and simulate again."
    )


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)


DIGITS = "digits"


@dataclass(frozen=True)
class Split:
    """Disjoint records of one data set.

    Attributes:
        shards: one for each party, in the order of the settings' sites.
        labelled: the querying party's records at the start.
        pool: its queries, without labels; for several querying parties one part after the other. If features
            are shared, these are the records of all parties.
        truth: int64 labels of the pool, (Q,), or (Q, k) if multi-label, or numbers (Q,), which only the
            report may see.
        test: test records of students.
        task: the task of the records, or None if it is inferred from arrays.
        notes: what a person should know about the records' file, columns and classes, one sentence each.
    """

    shards: tuple[Dataset, ...]
    labelled: Dataset
    pool: Dataset
    truth: NDArray[np.int64 | np.float64]
    test: Dataset
    task: Task | None = None
    notes: tuple[str, ...] = ()

    @property
    def true_classes(self) -> NDArray[np.int64]:
        """The `truth` of classes or labels."""
        return self.truth.astype(np.int64, copy=False)

    @property
    def kind(self) -> TaskKind:
        """What a record has: one class, several labels, or a number."""
        if self.test.numeric:
            return "number"
        return "multilabel" if self.test.multi_label else "single"


def split_data(settings: Settings) -> Split:
    """Read the settings' data and divide them, by the seed.

    A file with its own test records (X_test) keeps the two apart: parties share the training records, and the
    querying party draws on the test records. For other data a fifth are test records, then the querying party
    gets its records, then the parties the rest. The querying party's records are drawn at random, the
    parties' by the settings' split. Raises the codes of `ostraka.common.datasets.load`, ``config.invalid``
    for a split that the data do not allow, and ``data.too_few`` if there are too few records.
    """
    random = np.random.default_rng(settings.records.seed)
    task, proposal = _task(settings.records)
    ours, theirs, left_out = _sources(settings, task, random)
    reading = ours.reading or Reading()
    notes = reading.sentences() if proposal is None else proposal.tell(reading)
    if left_out:
        notes = (*notes, f"{left_out} records of ids that the querying party has are with no party.")
    wanted = settings.drawn
    if wanted >= len(ours):
        raise _too_few(
            f"{wanted} labelled and unlabeled records were asked for and {len(ours)} are there", "queries"
        )
    settings = settings.of_numbers() if ours.numeric else settings
    if len(theirs) < settings.records.parties * settings.teachers:
        raise _too_few(f"{settings.votes} teachers share {len(theirs)} records", "teachers or parties")
    labelled, pool, test = np.split(random.permutation(len(ours)), [settings.records.labelled, wanted])
    rows = shard_rows(theirs, settings, random)
    held = [theirs.take(np.sort(row)) for row in rows]
    if settings.budgets.consent is not None:
        held = [with_consent(one, settings.budgets.consent, random) for one in held]
    shared = theirs.take(random.permutation(np.concatenate(rows))) if settings.learning.label_dp else None
    asked = ours.take(pool) if shared is None else shared
    return Split(
        shards=tuple(held),
        labelled=ours.take(labelled),
        pool=replace(asked, y=None, ids=_distinct(asked.ids)),
        truth=asked.targets(),
        test=ours.take(test),
        task=task,
        notes=notes,
    )


def _distinct(ids: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return ids that distinguish all records of a pool, if persons have several records."""
    if ids is None or len(set(ids)) == len(ids):
        return ids
    return tuple(f"{one} ({row})" for row, one in enumerate(ids))


def _task(records: RecordSettings) -> tuple[Task | None, TaskProposal | None]:
    """Return the given task, or the task that the data's table makes, and its proposal.

    Everything in a simulation is public.
    """
    if records.task_file is not None:
        return load_task(records.task_file), None
    if not is_table(records.data):
        return None, None
    labels = records.label_columns
    table = read_table(records.data)
    proposal = propose_task(
        table.columns,
        (labels,) if isinstance(labels, str) else labels,
        Path(records.data).stem,
        source=records.data,
        public=True,
        reading=table.reading,
        target=None if records.task is None else "number" if records.task == "number" else "class",
    )
    return proposal.task(), proposal


def _sources(
    settings: Settings, task: Task | None, random: np.random.Generator
) -> tuple[Dataset, Dataset, int]:
    """Return the records that the querying party and the parties draw on, and the number of unused ones."""
    if _has_test_records(settings.records.data):
        train, test = load_splits(
            settings.records.data, settings.records.label_columns, target=_number_format(settings.records)
        )
        return test, train, 0
    whole = _records(settings.records, task)
    whole.targets()
    if not whole.numeric:
        whole = replace(whole, classes=whole.classes or _class_names(whole))
    ours = settings.drawn + round(TEST_FRACTION * len(whole))
    order = random.permutation(len(whole))
    theirs = _of_others(order[ours:], order[:ours], whole.ids)
    drawn_on = replace(whole.take(order[:ours]), reading=whole.reading)
    return drawn_on, whole.take(theirs), len(whole) - ours - len(theirs)


def _of_others(
    theirs: NDArray[np.int64], ours: NDArray[np.int64], ids: tuple[str, ...] | None
) -> NDArray[np.int64]:
    """Return the parties' rows without the querying party's persons: nobody is on both sides."""
    if ids is None:
        return theirs
    known = {ids[row] for row in ours.tolist()} - {""}
    return np.array([row for row in theirs.tolist() if ids[row] not in known], np.int64)


def _records(records: RecordSettings, task: Task | None) -> Dataset:
    if task is not None:
        return task.load(records.data)
    if records.data == DIGITS:
        return digits()
    data = load(records.data, records.label_columns, target=_number_format(records))
    return data.without_gaps(records.data)


def _number_format(records: RecordSettings) -> NumberFormat | None:
    """Return how arrays write one number per record; None if they have classes or labels."""
    numeric = (records.task or task_kind(records.data)) == "number"
    return NumberFormat() if numeric else None


def _class_names(data: Dataset) -> tuple[str, ...]:
    if data.multi_label:
        return default_names(data.labels().shape[1])
    return tuple(str(index) for index in range(int(data.labels().max()) + 1))


def _has_test_records(data: str) -> bool:
    """Whether this is an .npz with an array X_test; `load` judges anything else about the file."""
    path = Path(data)
    if kind_of(path) != ".npz" or not path.is_file() or not is_zipfile(path):
        return False
    with ZipFile(path) as arrays:
        return "X_test.npy" in arrays.namelist()


def _too_few(what: str, ask: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_TOO_FEW, f"The data are too few: {what}. Ask for fewer {ask}, or bring more."
    )
