"""The file `task.toml`, in which every site of a federation has the same task."""

import datetime
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.task.task import Task


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


def task_text(fields: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """Return a task's fields as TOML, one column a line, behind it a comment where its name has one."""
    notes = comments or {}
    inputs = dict(fields["input"])
    columns = inputs.pop("columns", None)
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items() if key != "input"]
    lines += ["", "[input]", *(f"{key} = {_toml(value)}" for key, value in inputs.items())]
    if columns is not None:
        rows = (f"    {{ {_inline(column)} }},{_comment(notes.get(column['name']))}" for column in columns)
        lines += ["columns = [", *rows, "]"]
    return "\n".join(lines) + "\n"


def first_problem(exc: ValidationError) -> str:
    """Return where a task's first problem is, and what it is; of open ranges all columns that have one."""
    unranged = [error["input"]["name"] for error in exc.errors() if _is_open(error)]
    if unranged:
        names = ", ".join(f"'{name}'" for name in dict.fromkeys(unranged))
        return (
            f"the range of {names} is open: write min and max of what can occur, known from what is measured"
            " and not from private records"
        )
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "task"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"


def _is_open(error: ErrorDetails) -> bool:
    """Whether a column lacks an end of its range."""
    ends = error["type"] == "missing" and error["loc"][-1] in ("min", "max")
    return ends and isinstance(error["input"], dict) and "name" in error["input"]


def _toml(value: Any) -> str:
    """Return a value as TOML writes it: JSON writes texts, numbers and arrays of them the same way."""
    return value.isoformat() if isinstance(value, datetime.date) else json.dumps(value, ensure_ascii=False)


def _inline(column: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {_toml(value)}" for key, value in column.items())


def _comment(text: str | None) -> str:
    return "" if text is None else f"  # {text}"


def _invalid_file(path: Path | str, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The task file {path} is invalid: {problem}.")
