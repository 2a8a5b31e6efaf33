"""Dependency rules: labels that imply that others are absent, or present, in a querying party's own file."""

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
"""By the value that parent and child have."""
Share = Annotated[float, Field(ge=0, le=1)]


class Dependency(FrozenModel):
    """Where `parent` is absent, `child` is absent too; or present, where presence is implied.

    Dziedzic et al. 2023, Appendix D, of absence alone. Words are those of absence: of presence read "with"
    for "without", and the other way round.

    Attributes:
        parent: name of the label that is asked first.
        child: name of the label that is not asked where the parent is absent.
        confidence: share of the records without the parent that are without the child.
        missed: the share of the records with the child that are without the parent, and whose label is lost,
            is at most this (with 95% confidence).
        support: how many records are without the parent.
        implies: whether it is absence that implies absence, or presence that implies presence.
    """

    parent: Name
    child: Name
    confidence: Share
    missed: Share
    support: Annotated[int, Field(ge=0)]
    implies: Implies = "absence"

    @property
    def condition(self) -> "Condition":
        """What implies the child."""
        return Condition(self.parent, IMPLIES.index(self.implies))


class Condition(NamedTuple):
    """That a label has this value, 0 or 1: then its children have the same."""

    parent: str
    value: int


class Dependencies(FrozenModel):
    """What was learned of one task's labels: trees, in which a label is implied by at most one other.

    So no two rules contradict each other. Raises ValueError, as pydantic says it, for a label that several
    imply, and for labels that imply one another in a circle.
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
        """Return the parent of a label, the parent of that, and so on; a circle is gone round once."""
        parents = {rule.child: rule.parent for rule in self.dependencies}
        found: list[str] = []
        while label in parents and label not in found[:-1]:
            label = parents[label]
            found.append(label)
        return tuple(found)

    @property
    def families(self) -> dict[Condition, tuple[str, ...]]:
        """The children of each parent and value, parents that are no child first, then their children."""
        found: dict[Condition, list[str]] = {}
        for rule in sorted(self.dependencies, key=lambda rule: len(self.ancestors(rule.parent))):
            found.setdefault(rule.condition, []).append(rule.child)
        return {condition: tuple(children) for condition, children in found.items()}

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
