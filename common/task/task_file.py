"""The file `task.toml`, in which every site of a federation has the same task."""

import datetime
import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.task import Task
from ostraka.common.toml_files import TomlError, read_toml


def load_task(path: Path | str) -> Task:
    """Read `task.toml`; raise `config.invalid` naming the key that is wrong."""
    try:
        return Task.model_validate(read_toml(Path(path)))
    except FileNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"There is no task file {path}: copy the federation's, or make one with"
            " `ostraka task init RECORDS --label COLUMN`.",
        ) from exc
    except OSError as exc:
        raise _invalid_file(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        raise _invalid_file(path, first_problem(exc)) from exc
    except TomlError as exc:
        raise _invalid_file(path, f"it {exc}") from exc


def write_task(task: Task, path: Path | str) -> None:
    """Write a `task.toml` that `load_task` reads back the same."""
    Path(path).write_text(task_text(task.model_dump()), encoding="utf-8")


def task_text(fields: dict[str, Any]) -> str:
    """Return a task's fields as TOML, one column a line."""
    inputs = dict(fields["input"])
    columns = inputs.pop("columns", None)
    lines = [f"{key} = {toml_value(value)}" for key, value in fields.items() if key != "input"]
    lines += ["", "[input]", *(f"{key} = {toml_value(value)}" for key, value in inputs.items())]
    if columns is not None:
        lines += ["columns = [", *(f"    {{ {_inline(column)} }}," for column in columns), "]"]
    return "\n".join(lines) + "\n"


def first_problem(exc: ValidationError) -> str:
    """Return where in a task the first problem is, and what it is."""
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "task"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"


def toml_value(value: Any) -> str:
    """Return a value as TOML writes it: JSON writes texts, numbers and arrays of them the same way."""
    return value.isoformat() if isinstance(value, datetime.date) else json.dumps(value, ensure_ascii=False)


def _inline(column: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {toml_value(value)}" for key, value in column.items())


def _invalid_file(path: Path | str, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The task file {path} is invalid: {problem}.")
