"""Negative dependency rules: labels that imply the absence of others, in one querying party's own file."""

import json
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.task import Task
from ostraka.common.task.columns import Name
from ostraka.common.validation import FrozenModel

Share = Annotated[float, Field(ge=0, le=1)]


class Dependency(FrozenModel):
    """Where `parent` is absent, `child` is absent too (Dziedzic et al. 2023, Appendix D).

    Attributes:
        parent: name of the label that is asked first.
        child: name of the label that is not asked where the parent is absent.
        confidence: share of the records without the parent that are without the child.
        missed: the share of the records with the child that are without the parent, and whose label is lost,
            is at most this (with 95% confidence).
        support: how many records are without the parent.
    """

    parent: Name
    child: Name
    confidence: Share
    missed: Share
    support: Annotated[int, Field(ge=0)]


class Dependencies(FrozenModel):
    """What was learned of one task's labels; no child is a parent, and none has two.

    Raises ValueError, as pydantic says it, for a label on both sides or twice on one.
    """

    task: Name
    dependencies: Annotated[tuple[Dependency, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_step(self) -> Self:
        children = [rule.child for rule in self.dependencies]
        both = {rule.parent for rule in self.dependencies} & set(children)
        if both:
            raise ValueError(f"label '{min(both)}' is a parent and a child")
        repeated = [child for child in children if children.count(child) > 1]
        if repeated:
            raise ValueError(f"label '{repeated[0]}' has two parents")
        return self

    @property
    def families(self) -> dict[str, tuple[str, ...]]:
        """The children of each parent, in the order of the file."""
        found: dict[str, list[str]] = {}
        for rule in self.dependencies:
            found.setdefault(rule.parent, []).append(rule.child)
        return {parent: tuple(children) for parent, children in found.items()}

    def check(self, task: Task) -> None:
        """Raise `task.mismatch` unless these are labels of the task."""
        if not task.multi_label:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"A record of the task '{task.name}' has one class: dependencies are between labels.",
            )
        named = {name for rule in self.dependencies for name in (rule.parent, rule.child)}
        unknown = sorted(named - set(task.classes))
        if self.task != task.name or unknown:
            problem = f"label '{unknown[0]}' is none of its" if unknown else f"they are of task '{self.task}'"
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"The dependencies do not fit the task '{task.name}': {problem}; learn them again with "
                "`ostraka query dependencies`.",
            )


def write_dependencies(rules: Dependencies, path: Path) -> None:
    """Write a file that `load_dependencies` reads back the same."""
    lines = [f"task = {json.dumps(rules.task, ensure_ascii=False)}"]
    for rule in rules.dependencies:
        fields = (
            f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in rule.model_dump().items()
        )
        lines += ["", "[[dependencies]]", *fields]
    try:
        write_atomic(path, "\n".join(lines) + "\n")
    except OSError as exc:
        raise _invalid(path, f"it cannot be written ({exc.strerror}); name another file") from exc


def load_dependencies(path: Path) -> Dependencies:
    """Read a file of dependencies; raise `config.invalid` with the reason where it is damaged."""
    try:
        return Dependencies.model_validate(read_toml(path))
    except OSError as exc:
        raise _invalid(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise _invalid(path, f"{where}: {first['msg'].removeprefix('Value error, ')}") from exc
    except TomlError as exc:
        raise _invalid(path, f"it {exc}") from exc


def _invalid(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The dependencies {path} are invalid: {problem}.")
