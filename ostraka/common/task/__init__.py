"""Tasks: what a federation learns; every site has the same task in one file, `task.toml`."""

from ostraka.common.task.columns import (
    BooleanColumn,
    CategoryColumn,
    Column,
    DateColumn,
    NumberColumn,
    TextColumn,
)
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.proposal import infer_task
from ostraka.common.task.task import Source, Task, load_task, write_task

__all__ = [
    "BooleanColumn",
    "CategoryColumn",
    "Column",
    "DateColumn",
    "NumberColumn",
    "Source",
    "TableInput",
    "Task",
    "TensorInput",
    "TextColumn",
    "infer_task",
    "load_task",
    "write_task",
]
