"""A table as input for ways of learning: prepared by its own task, sampled, and checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.fitting.problems import categories_of, kind_of
from ostraka.client.learners.problem import Category, Kind
from ostraka.common.console.texts import list_words
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_files import Frame, Table, frame_table, is_table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError, printable
from ostraka.common.task import Task
from ostraka.common.task.label_proposal import TargetKind
from ostraka.common.task.table_proposal import propose_task

MIN_RECORDS = 60
"""Least number of records: a quarter are test records, and with fewer than 15 of these one is worth seven
points.
"""
MAX_RECORDS = 10_000
"""Largest number of records used: they take two minutes on two cores."""
MAX_FEATURES = 500
"""Largest number of features: a sum of squares then has 125,000 values, and a table takes minutes."""
TELLING = 0.995
"""Fraction of the errors of the most frequent class that a column must avoid to count as the label itself."""
ON_A_LINE = 0.9999
"""Correlation with a number from which a column counts as that number on another scale, rounded."""
LOOKED_AT = 2_000
"""Number of records by which a column is judged: each takes a tree, and there may be hundreds of columns."""
RECORDS_A_LEAF = 10
"""Least number of records per leaf of the tree that judges a category: with fewer, values predict labels by
chance.
"""


@dataclass(frozen=True)
class AdviceRecords:
    """Labelled records that represent those of all sites.

    Attributes:
        task: made from them.
        X: features for models, float32 (n, F), from 0 to 1.
        y: class indices (n,), labels of 0 and 1 (n, labels), or numbers (n,).
        rows: number of rows of the whole table, of which these are a sample.
        notes: what a person should know about the table, one sentence each.
        encoded: whether features are an encoder's, and no longer the task's.
    """

    task: Task
    X: NDArray[np.float32] = field(repr=False)
    y: NDArray[Any] = field(repr=False)
    rows: int
    notes: tuple[str, ...] = ()
    encoded: bool = False

    def __len__(self) -> int:
        return len(self.X)

    @property
    def kind(self) -> Kind:
        """What is learned: classes, labels or a number."""
        return kind_of(self.task)

    @property
    def categories(self) -> tuple[Category, ...]:
        """Which features are the indicators of one column."""
        return () if self.encoded else categories_of(self.task)

    @classmethod
    def read(
        cls,
        source: Path | str | Frame,
        labels: Sequence[str],
        *,
        leave_out: Sequence[str] = (),
        target: TargetKind | None = None,
    ) -> "AdviceRecords":
        """Read a table and make its task, as `task init --from-public` does.

        Raises:
            OstrakaError: as `propose_task` and `read_table`; `data.too_few` for fewer than `MIN_RECORDS`,
                `data.shape` for more than `MAX_FEATURES`, `data.label_range` if a column is the label.
        """
        table = _leave_out(_table(source), leave_out)
        # Checked before the columns, of which there may be very many, are examined.
        _require_features(table.columns.num_columns - len(labels), table.origin)
        proposal = propose_task(
            table.columns,
            tuple(labels),
            Path(source).stem if isinstance(source, Path | str) else "table",
            source=table.origin,
            public=True,
            reading=table.reading,
            target=target,
        )
        task = proposal.task()
        _require_features(len(task.features), table.origin)
        data = task.read(table.columns, source=table.origin)
        y: NDArray[Any] = data.numbers() if task.target is not None else data.labels()
        X = task.prepare(data.X)
        if task.multi_label:
            known = (y != UNKNOWN).all(axis=1)
            X = X[known]
            y = y[known]
        require_records(len(X), str(table.origin))
        reading = table.reading if data.reading is None else table.reading.note(data.reading.columns)
        found = cls(task, X, y, len(X), proposal.tell(reading))
        found.require_no_leak()
        return found

    def sample(self, seed: int) -> "AdviceRecords":
        """Return a sample of `MAX_RECORDS` records, or all if there are fewer."""
        kept = np.sort(np.random.default_rng(seed).permutation(len(self))[:MAX_RECORDS])
        return replace(self, X=self.X[kept], y=self.y[kept])

    def require_no_leak(self) -> None:
        """Raise `data.label_range` if one column alone determines the label."""
        telling = [name for name, first, width in self._columns() if self._tells(first, width)]
        if not telling:
            return
        names = list_words([f"'{printable(name)}'" for name in telling])
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{names} {'tells' if len(telling) == 1 else 'tell'} what is to be learned alone, in nearly all "
            "records: leave out with --leave-out what is the label in other words, or known only after it.",
        )

    def _columns(self) -> list[tuple[str, int, int]]:
        """Return the name, first feature and width of each column."""
        parts = getattr(self.task.input, "parts", ())
        widths = [len(part.features) for part in parts]
        firsts = np.cumsum([0, *widths[:-1]]).tolist()
        return [(part.name, first, width) for part, first, width in zip(parts, firsts, widths, strict=True)]

    def _tells(self, first: int, width: int) -> bool:
        """Whether these features alone determine the label: a number on a line, all else by a small tree."""
        from sklearn.tree import DecisionTreeClassifier

        shown = np.random.default_rng(0).permutation(len(self))[:LOOKED_AT]
        values = self.X[shown, first : first + width]
        y = self.y[shown]
        if self.kind == "number":
            varies = values[:, 0].std() > 0 and y.std() > 0
            return bool(varies and abs(np.corrcoef(values[:, 0], y)[0, 1]) >= ON_A_LINE)
        for column in np.atleast_2d(y.T):
            counts = np.unique(column, return_counts=True)[1]
            leaves = max(2 * len(counts), min(width, len(column) // RECORDS_A_LEAF))
            tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(values, column)
            wrong = 1 - tree.score(values, column)
            if len(counts) > 1 and wrong <= (1 - TELLING) * (1 - counts.max() / len(column)):
                return True
        return False


def _require_features(features: int, origin: Origin) -> None:
    if features > MAX_FEATURES:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{origin} makes {features:,} features, and advice tries up to {MAX_FEATURES:,}: leave columns "
            "out with --leave-out, or give the most telling ones.",
        )


def require_records(found: int, what: str) -> None:
    """Raise `data.too_few` if there are too few labelled records for advice."""
    if found < MIN_RECORDS:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{what} has {found} labelled records, and advice needs {MIN_RECORDS}: models learn "
            "from some of them and are measured on others; bring more, or public ones like them.",
        )


def _table(source: Path | str | Frame) -> Table:
    if not isinstance(source, Path | str):
        return frame_table(source, Origin("the table"))
    path = Path(source)
    if not path.is_file():
        raise OstrakaError(ErrorCode.DATA_MISSING, f"There is no data file {path}: check the path.")
    if not is_table(path):
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} is not a table: give a .csv, .parquet or .xlsx, or an .npz with an array a column.",
        )
    return read_table(path)


def _leave_out(table: Table, names: Sequence[str]) -> Table:
    for name in names:
        if name not in table.columns.column_names:
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                f"{table.origin} has no column '{printable(name)}' to leave out: correct its name.",
            )
    return table.without(names)
