"""Tasks: what is classified, agreed on by every site of a federation in one file, `task.toml`."""

from ostraka.common.task.boolean_column import BooleanColumn
from ostraka.common.task.category_column import CategoryColumn
from ostraka.common.task.columns import Column
from ostraka.common.task.date_column import DateColumn
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.number_column import NumberColumn
from ostraka.common.task.proposal import infer_task
from ostraka.common.task.task import Source, Task
from ostraka.common.task.task_file import load_task, write_task

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
    "infer_task",
    "load_task",
    "write_task",
]
