"""Records: in memory, in files, and as a task describes them."""

from ostraka.common.datasets import Dataset, digits, from_arrays, load, load_splits, save
from ostraka.common.task import Source, infer_task, write_task

__all__ = [
    "Dataset",
    "Source",
    "digits",
    "from_arrays",
    "infer_task",
    "load",
    "load_splits",
    "save",
    "write_task",
]
