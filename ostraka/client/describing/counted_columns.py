"""The columns that are counted, their bins in the task's public ranges, and conditions on records."""

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ostraka.common.datasets.unreadable import UnreadableValuesError
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import LABEL, ColumnStatistic, Condition, StatisticsQuestion
from ostraka.common.task import Task
from ostraka.common.task.columns import OTHER, BooleanColumn, DateColumn
from ostraka.common.task.input import TableInput

MAX_VALUES = 50
"""Maximum number of integers in a column that are counted individually: more are binned, which noise affects
less."""
BINS = 20
"""Bins of a number: ranges are often twice as wide as the data, and ten bins show a distribution."""
EDGE_DIGITS = 6
"""Significant decimals of a bin's edge."""
TRUTHS = ("no", "yes")
"""Truth values, in the order of their codes."""
MAX_COLUMNS = 64
"""Maximum number of columns in a question: each one adds noise to all others."""


@dataclass(frozen=True)
class CountedColumn:
    """A column, how it is counted, and the names of its bins.

    Attributes:
        name: as in the task.
        counted: the statistic that is asked for.
        values: name of each bin.
        numeric: whether its values are numbers or days, which have a mean.
        whole: whether they are integers.
        first_day: for a date, day 0 of its numbers; None for other columns.
    """

    name: str
    counted: ColumnStatistic
    values: tuple[str, ...]
    numeric: bool
    whole: bool = False
    first_day: datetime.date | None = None

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The smallest and the largest number that each bin may contain."""
        return _ends(self.counted, whole=self.whole)


def choose_columns(task: Task, named: Sequence[str]) -> tuple[CountedColumn, ...]:
    """Return the named columns; default: all of a table's columns and the label, or for arrays the label.

    Raises `config.invalid` for an unknown column, for one that is named twice, and for too many.
    """
    names = tuple(named) or _all_columns(task)
    known = {*task.columns, *_labels(task)}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise _config(f"the task '{task.name}' has no column '{unknown[0]}'")
    if len(set(names)) < len(names):
        raise _config("a column is named twice")
    if not names or len(names) > MAX_COLUMNS:
        raise _config(f"{len(names)} columns are asked about: name from 1 to {MAX_COLUMNS}")
    return tuple(_count_label(task) if name in _labels(task) else _count_column(task, name) for name in names)


def ask_counts(columns: Sequence[CountedColumn], conditions: Sequence[Condition]) -> StatisticsQuestion:
    """Return the question for these columns over the records that satisfy all conditions."""
    return StatisticsQuestion(tuple(column.counted for column in columns), tuple(conditions))


_CONDITION = re.compile(r"(?P<name>.+?)\s*(?P<sign><=|>=|=|<|>)\s*(?P<value>.+)")


def read_condition(task: Task, text: str) -> Condition:
    """Parse a condition such as age>=60 or sex=female, with a value in the column's format.

    Raises `config.invalid` for text that is not a condition, an unknown column, and a value that the column
    does not have.
    """
    found = _CONDITION.fullmatch(text.strip())
    if found is None:
        raise _config(f"'{text}' is not a condition: write one such as age>=60, or sex=female")
    name = found["name"].strip()
    sign = found["sign"]
    value = found["value"].strip()
    if name in _labels(task):
        column = LABEL
        code = _label_code(task, value)
        low, high = _label_ends(task)
    elif name in task.columns:
        column = task.columns.index(name)
        code = _column_code(task, column, value)
        low, high = (float(ends[column]) for ends in task.input.bounds())
    else:
        raise _config(f"the task '{task.name}' has no column '{name}'")
    # Records are float32: strict comparisons use the next float32 after a value.
    exact = np.float32(code)
    match sign:
        case "=":
            low = high = float(exact)
        case ">=":
            low = float(exact)
        case ">":
            low = float(np.nextafter(exact, np.float32(np.inf)))
        case "<=":
            high = float(exact)
        case _:
            high = float(np.nextafter(exact, np.float32(-np.inf)))
    return Condition(column, low, high)


def _all_columns(task: Task) -> tuple[str, ...]:
    columns = task.columns if isinstance(task.input, TableInput) else ()
    return (*columns, *_labels(task))


def _labels(task: Task) -> tuple[str, ...]:
    """Return the name of the label column, if any: a multi-label task has none."""
    return () if task.multi_label else (task.label,)


def _label_ends(task: Task) -> tuple[float, float]:
    if task.target is not None:
        return task.target.min, task.target.max
    return 0.0, len(task.classes) - 1.0


def _count_label(task: Task) -> CountedColumn:
    low, high = _label_ends(task)
    if task.target is not None:
        counted = ColumnStatistic(LABEL, low, high, BINS)
        return CountedColumn(task.label, counted, _ranges(counted), numeric=True)
    counted = ColumnStatistic(LABEL, low - 0.5, high + 0.5, len(task.classes))
    return CountedColumn(task.label, counted, task.classes, numeric=False)


def _count_column(task: Task, name: str) -> CountedColumn:
    column = task.columns.index(name)
    low, high = (float(ends[column]) for ends in task.input.bounds())
    whole = bool(task.input.whole()[column])
    part = task.input.parts[column] if isinstance(task.input, TableInput) else None
    words = part.categories if part else ()
    if isinstance(part, BooleanColumn):
        words = TRUTHS
    first_day = part.min if isinstance(part, DateColumn) else None

    def text_of(code: float) -> str:
        return task.input.text_of(column, code) if first_day else f"{code:.6g}"

    if whole and high - low < MAX_VALUES:
        codes = np.arange(low, high + 1)
        counted = ColumnStatistic(column, low - 0.5, high + 0.5, len(codes))
        values = words or tuple(map(text_of, codes))
    else:
        if low == high:
            low -= 0.5
            high += 0.5
        counted = ColumnStatistic(column, low, high, BINS)
        values = _ranges(counted, whole=whole, text_of=text_of)
    return CountedColumn(name, counted, values, not words, whole, first_day)


def _ends(counted: ColumnStatistic, *, whole: bool) -> tuple[Floats, Floats]:
    edges = np.linspace(counted.low, counted.high, counted.bins + 1)
    if not whole:
        return edges[:-1], edges[1:]
    # An edge belongs to the bin above it, except the last; sums of steps miss integers by rounding errors.
    starts = np.ceil(np.round(edges, EDGE_DIGITS))
    return starts[:-1], np.append(starts[1:-1] - 1, np.floor(counted.high))


def _ranges(
    counted: ColumnStatistic, *, whole: bool = False, text_of: Callable[[float], str] = "{:.6g}".format
) -> tuple[str, ...]:
    lows, highs = _ends(counted, whole=whole)
    return tuple(f"{text_of(low)} to {text_of(high)}" for low, high in zip(lows, highs, strict=True))


def _label_code(task: Task, value: str) -> float:
    if task.target is not None:
        return _number(task.label, value)
    if value not in task.classes:
        value = _unquote(value)
    if value not in task.classes:
        raise _config(f"'{task.label}' has no value '{value}': it has {', '.join(task.classes)}")
    return float(task.classes.index(value))


def _column_code(task: Task, column: int, value: str) -> float:
    """Return the code of a value in a table's column, or a number in an array."""
    if not isinstance(task.input, TableInput):
        return _number(task.columns[column], value)
    part = task.input.parts[column]
    if part.categories and value not in part.categories:
        value = _unquote(value)
    try:
        code = float(part.read(pa.chunked_array([[value]])).codes[0])
    except UnreadableValuesError as exc:
        raise _config(
            f"'{value}' is not a value of column '{part.name}'{_list_values(part.categories)}"
        ) from exc
    # An unknown category would be counted as "other", and the result taken for its own.
    unlisted = bool(part.categories) and part.categories[int(code)] == OTHER != value
    if np.isnan(code) or unlisted:
        raise _config(f"'{value}' is not a value of column '{part.name}'{_list_values(part.categories)}")
    return code


_QUOTED = re.compile(r"""(?P<mark>["'])(?P<text>.*)(?P=mark)""")


def _unquote(value: str) -> str:
    """Remove surrounding quotes, which people write as in shells and SQL."""
    found = _QUOTED.fullmatch(value)
    return found["text"] if found else value


def _list_values(values: Sequence[str]) -> str:
    return f": it has {', '.join(values)}" if values else ""


def _number(name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as exc:
        raise _config(f"'{value}' is not a number, and '{name}' is one") from exc


def _config(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"Nothing can be counted: {problem}.")
