"""Labels that a run released, as whoever asked for them works with them."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ostraka.client.run.labels_file import ANSWERED, LABELS_FILE
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from pandas import DataFrame

    from ostraka.client.run.labelling import LabelResult

STATUS = "status"


@dataclass(frozen=True, eq=False)
class Labels:
    """What a run labelled: a row for each record of its pool, in the pool's order.

    Attributes:
        run: the run's folder.
        columns: the id column, the label column (of a task of several labels one for each), `status`, and
            `guarantee` where no formal guarantee goes with the labels.
        rows: the cells of labels.csv as text, a tuple for each record.
    """

    run: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)

    @classmethod
    def read(cls, run: Path | str, **more: Any) -> Self:
        """Read the labels in a run's folder; raise `data.missing` where there are none."""
        file = Path(run) / LABELS_FILE
        try:
            with file.open(newline="", encoding="utf-8") as text:
                columns, *rows = map(tuple, csv.reader(text))
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise OstrakaError(
                ErrorCode.DATA_MISSING, f"There are no labels in {run}: name the folder of a run."
            ) from exc
        return cls(run=Path(run), columns=columns, rows=tuple(rows), **more)

    def __len__(self) -> int:
        """Return the number of records of the pool."""
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        """Iterate over the records, each as its cells by column."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, column: str) -> tuple[str, ...]:
        """Return the cells of a column; raise KeyError for one that is not there."""
        if column not in self.columns:
            raise KeyError(column)
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    @cached_property
    def answered(self) -> int:
        """Records that the parties' teachers labelled."""
        return self[STATUS].count(ANSWERED)

    def frame(self) -> "DataFrame":
        """Return these columns as a pandas data frame; raise `config.invalid` where that is not installed."""
        from ostraka.common.datasets.frames import data_frame

        return data_frame(list(self), self.columns)

    def __str__(self) -> str:
        """Return how many records have a label, and where they are stored."""
        return f"{self.answered} of {len(self)} records labelled: {self.run / LABELS_FILE}"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show."""
        from ostraka.common.datasets.frames import html_table

        return html_table(str(self), self.columns, self.rows)


@dataclass(frozen=True, eq=False)
class LabelledPool(Labels):
    """Labels that were just asked for, and what the run came to.

    Attributes:
        result: how many queries were asked and answered, and why no more, if so.
    """

    result: "LabelResult" = field(kw_only=True)
