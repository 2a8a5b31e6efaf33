"""Dependency rules: labels that imply that other labels are absent, or present; in the querying party's
file."""

import json
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, ValidationError, model_validator

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.task import Task
from ostraka.common.task.columns import Name
from ostraka.common.validation import FrozenModel, first_problem

Implies = Literal["absence", "presence"]
IMPLIES: tuple[Implies, Implies] = ("absence", "presence")
"""Indexed by the common value of parent and child."""
Share = Annotated[float, Field(ge=0, le=1)]


class Dependency(FrozenModel):
    """If `parent` is absent, so is `child`; or if it is present, when presence is implied.

    Dziedzic et al. 2023, Appendix D, describe absence only. The attributes are worded for absence; for
    presence, swap "with" and "without".

    Attributes:
        parent: name of the label that is asked first.
        child: name of the label that is not asked if the parent is absent.
        confidence: fraction of the records without the parent that are without the child.
        missed: upper bound (with 95% confidence) on the fraction of the records with the child that are
            without the parent, whose label is lost.
        support: number of records without the parent.
        implies: "absence" if absence implies absence, "presence" if presence implies presence.
    """

    parent: Name
    child: Name
    confidence: Share
    missed: Share
    support: Annotated[int, Field(ge=0)]
    implies: Implies = "absence"

    @property
    def condition(self) -> "Condition":
        """The condition that implies the child."""
        return Condition(self.parent, IMPLIES.index(self.implies))


class Condition(NamedTuple):
    """A label and a value, 0 or 1; if the label has it, its children have the same value."""

    parent: str
    value: int


class Dependencies(FrozenModel):
    """The rules learned for a task's labels: trees, in which each label is implied by at most one other.

    So no two rules contradict each other. Raises ValueError, in pydantic's format, if several labels imply
    one, or labels imply one another in a circle.
    """

    task: Name
    dependencies: Annotated[tuple[Dependency, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _are_trees(self) -> Self:
        children = [rule.child for rule in self.dependencies]
        repeated = [child for child in children if children.count(child) > 1]
        if repeated:
            raise ValueError(f"label '{repeated[0]}' has two parents")
        for child in children:
            if child in self.ancestors(child):
                raise ValueError(f"label '{child}' is its own parent, by others or itself; leave out a rule")
        return self

    def ancestors(self, label: str) -> tuple[str, ...]:
        """Return the parent of a label, the parent's parent, and so on; a circle is followed once."""
        parents = {rule.child: rule.parent for rule in self.dependencies}
        found: list[str] = []
        while label in parents and label not in found[:-1]:
            label = parents[label]
            found.append(label)
        return tuple(found)

    @property
    def families(self) -> dict[Condition, tuple[str, ...]]:
        """The children of each condition, root parents first, then their children."""
        found: dict[Condition, list[str]] = {}
        for rule in sorted(self.dependencies, key=lambda rule: len(self.ancestors(rule.parent))):
            found.setdefault(rule.condition, []).append(rule.child)
        return {condition: tuple(children) for condition, children in found.items()}

    def check(self, task: Task) -> None:
        """Raise `task.mismatch` unless all labels belong to the task."""
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
    """Write a file that `load_dependencies` reads back unchanged."""
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
    """Read a file of dependencies; raise `config.invalid` with the reason if it is damaged."""
    try:
        stated = read_toml(path)
        return Dependencies.model_validate(stated)
    except OSError as exc:
        raise _invalid(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        raise _invalid(path, first_problem(exc, data=stated)) from exc
    except TomlError as exc:
        raise _invalid(path, f"it {exc}") from exc


def _invalid(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The dependencies {path} are invalid: {problem}.")
