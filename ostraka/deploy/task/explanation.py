"""A task told to people."""

from typing import Any

from ostraka.common.task import Task, TensorInput
from ostraka.common.task.named_column import NamedColumn


def explain(task: Task) -> str:
    """Return what a task says, a line for each column."""
    kind = "labels, any number of which a record has" if task.multi_label else "classes, one a record"
    lines = [
        f"{task.name}: {len(task.classes)} {kind}: {', '.join(task.classes)}",
        f"digest: {task.digest.hex()}",
    ]
    if isinstance(task.input, TensorInput):
        low, high = task.input.range
        shape = "x".join(map(str, task.input.shape))
        lines.append(f"records: arrays of shape {shape}, {task.input.dtype}, {low:g} to {high:g}")
    else:
        lines += [f"label: {', '.join(task.labels)}"] if not task.multi_label else []
        lines += [f"id: {task.id}"] if task.id else []
        lines += [f"ignored: {', '.join(task.ignore)}"] if task.ignore else []
        lines += [f"columns: {len(task.columns)}, which make {len(task.features)} features"]
        width = max(len(name) for name in task.columns)
        lines += [f"  {column.name:<{width}}  {_told(column)}" for column in task.input.columns]
    scaled = "scaled by their range" if task.input.preprocessing == "range" else "as they are"
    return "\n".join([*lines, f"values: {scaled}"])


def summary(task: Task) -> dict[str, Any]:
    """Return the same as values for JSON."""
    fields = task.model_dump(mode="json")
    return {**fields, "digest": task.digest.hex(), "features": list(task.features)}


def _told(column: NamedColumn) -> str:
    fields = column.model_dump(mode="json")
    told = [str(fields.get("dtype", column.kind))]
    if column.categories:
        told.append(f"one of {', '.join(column.categories)}")
    elif "min" in fields:
        unit = f" {fields['unit']}" if "unit" in fields else ""
        ends = (f"{end:g}" if isinstance(end, float) else end for end in (fields["min"], fields["max"]))
        told.append(f"{' to '.join(ends)}{unit}{', clipped' if column.clips else ''}")
    if column.takes_missing:
        told.append(f"missing: {'a feature says so' if column.indicates else fields['missing']}")
    return ", ".join(told)
