"""Records held against a task."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.task import Task, load_task


@dataclass(frozen=True)
class CheckedRecords:
    """Records that fit a task."""

    file: Path
    task: Task
    data: Dataset

    @property
    def held(self) -> dict[str, int]:
        """Records by class, or by label that they have; empty where they are unlabelled."""
        if self.data.y is None:
            return {}
        if self.data.multi_label:
            counts = (self.data.y == 1).sum(axis=0)
        else:
            counts = np.bincount(self.data.y, minlength=len(self.task.classes))
        return dict(zip(self.task.classes, counts.tolist(), strict=True))

    def sentence(self) -> str:
        """Return what fits, and how many records each class has."""
        held = ", ".join(f"{count} {name}" for name, count in self.held.items())
        labels = f"labels: {held}" if held else "no labels"
        features = len(self.task.features)
        return (
            f"{self.file} fits '{self.task.name}': {len(self.data)} records, {len(self.task.columns)}"
            f" columns, {features} features; {labels}."
        )

    def summary(self) -> dict[str, Any]:
        """Return the same as values for JSON."""
        return {
            "file": str(self.file),
            "task": self.task.name,
            "digest": self.task.digest.hex(),
            "records": len(self.data),
            "columns": len(self.task.columns),
            "features": len(self.task.features),
            "labels": self.held,
        }


def check_records(task_file: Path, records: Path) -> CheckedRecords:
    """Load records for a task; raises what `load_task` and `Task.load` raise."""
    task = load_task(task_file)
    return CheckedRecords(records, task, task.load(records))
