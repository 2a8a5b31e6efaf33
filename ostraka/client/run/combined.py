"""The combined labels of runs over one pool that asked for different labels."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from ostraka.client.run.dependency_rules import Condition, Dependencies, load_dependencies
from ostraka.client.session.answers import Answer
from ostraka.client.session.run_state import STATE_FILE, RunState, load_state

RULES_FILE = "dependencies.toml"
SETTINGS_FILE = "label-settings.toml"
PARENTS = "parents"
GROUP = "group"
Place: TypeAlias = tuple[int, int]
"""A condition: the parent's index, and the value that implies its children's."""
Families: TypeAlias = Mapping[Place, tuple[int, ...]]
"""The children that each condition implies, by index, in the order in which they are asked."""


@dataclass(frozen=True)
class Combined:
    """A pool whose labels were asked for in several runs, in sub-folders of one folder.

    Attributes:
        task: name of the task.
        classes: its labels.
        task_digest: its digest.
        pool_sha256: digest of the pool.
        pool_size: number of its records.
        queries: how many of them, from the first, the plan asks about.
        answers: by row of the pool, as `RunState.answers`: for every label of the task 1, 0, or None if it
            was neither answered nor implied.
        implied: by row, the indices of labels that were not asked because another label implies them.
        partly: rows with labels that were not asked but may be present; they can still be asked.
        parts: the runs, by name of their sub-folder.
    """

    task: str
    classes: tuple[str, ...]
    task_digest: bytes
    pool_sha256: str
    pool_size: int
    queries: int
    answers: Mapping[int, Answer] = field(repr=False)
    implied: Mapping[int, tuple[int, ...]] = field(repr=False)
    partly: frozenset[int] = field(repr=False)
    parts: Mapping[str, RunState] = field(repr=False)


def is_combined(folder: Path) -> bool:
    """Whether a folder contains the runs of `ostraka query label --dependencies` or `--label-settings`."""
    return (folder / RULES_FILE).exists() or (folder / SETTINGS_FILE).exists()


def uses_dependencies(folder: Path) -> bool:
    """Whether a folder contains runs whose answers determine later questions."""
    return (folder / RULES_FILE).exists()


def load_combined(folder: Path) -> Combined:
    """Return the combined answers of the runs in a folder.

    Raises `config.invalid` for damaged dependencies, `data.missing` or `run.mismatch` as `load_state` does.
    """
    if (folder / SETTINGS_FILE).exists():
        return combine_groups(_groups(folder))
    rules = load_dependencies(folder / RULES_FILE)
    first = load_state(folder / PARENTS)
    names = (folder_of(condition, first.classes) for condition in rules.families)
    later = {name: load_state(folder / name) for name in names if (folder / name / STATE_FILE).exists()}
    return combine(rules, {PARENTS: first} | later)


def combine(rules: Dependencies, parts: Mapping[str, RunState]) -> Combined:
    """Combine the answers about the labels asked first with those about children so far."""
    first = parts[PARENTS]
    labels = len(first.classes)
    families = families_of(rules, first.classes)
    names = dict(zip(families, (folder_of(each, first.classes) for each in rules.families), strict=True))
    later = {place: parts[name].answers() for place, name in names.items() if name in parts}
    joined = {
        row: join(given, answers_of(row, later), families, labels) for row, given in first.answers().items()
    }
    return _of_all(parts, joined)


def combine_groups(parts: Mapping[str, RunState]) -> Combined:
    """Combine the answers of runs about independent groups of labels."""
    answers = [state.answers() for state in parts.values()]
    labels = len(next(iter(parts.values())).classes)
    joined = {}
    for row in sorted(set().union(*answers)):
        bits = {label: bit for own in answers for label, bit in _bits_of(own.get(row)).items()}
        partly = any(row not in own for own in answers)
        joined[row] = CombinedAnswer(_as_answer(bits, labels), (), partly)
    return _of_all(parts, joined)


def _groups(folder: Path) -> dict[str, RunState]:
    """Return the runs of groups in a folder, in order; the first must exist."""
    others = len(list(folder.glob(f"{GROUP}-*/{STATE_FILE}")))
    names = [f"{GROUP}-{number}" for number in range(1, max(others, 1) + 1)]
    return {name: load_state(folder / name) for name in names}


def _of_all(parts: Mapping[str, RunState], joined: "Mapping[int, CombinedAnswer]") -> Combined:
    first = next(iter(parts.values()))
    plan = first.parse_plan()
    return Combined(
        task=first.task,
        classes=first.classes,
        task_digest=plan.task_digest,
        pool_sha256=first.pool_sha256,
        pool_size=first.pool_size,
        queries=plan.queries,
        answers={row: one.answer for row, one in joined.items()},
        implied={row: one.implied for row, one in joined.items() if one.implied},
        partly=frozenset(row for row, one in joined.items() if one.partly),
        parts=parts,
    )


@dataclass(frozen=True)
class CombinedAnswer:
    """A query's combined answer, its implied labels, and whether more can be asked.

    `due` has the conditions whose children can be asked now.
    """

    answer: Answer
    implied: tuple[int, ...]
    partly: bool
    due: tuple[Place, ...] = ()


def answers_of(row: int, later: Mapping[Place, Mapping[int, Answer]]) -> dict[Place, Answer]:
    """Return the answers about children for one query."""
    return {place: own[row] for place, own in later.items() if row in own}


def join(first: Answer, later: Mapping[Place, Answer], families: Families, labels: int) -> CombinedAnswer:
    """Combine the answer about the labels asked first with those about children, by their condition.

    If a parent, asked or implied, has the value that implies its children, they get the same value. If it has
    the other value or no answer, the children's answers are those in `later`; if there are none, the
    condition is due. A condition is not due while its parent's is. `labels` is the task's number of labels.
    The result depends on released answers only.
    """
    bits = _bits_of(first)
    implied: list[int] = []
    due: list[Place] = []
    waiting: set[int] = set()
    for (parent, value), children in families.items():
        if parent in waiting:
            waiting.update(children)
        elif bits.get(parent) == value:
            implied += children
            bits |= dict.fromkeys(children, value)
        elif (parent, value) in later:
            bits |= _bits_of(later[parent, value])
        else:
            due.append((parent, value))
            waiting.update(children)
    return CombinedAnswer(_as_answer(bits, labels), tuple(sorted(implied)), bool(due), tuple(due))


def _as_answer(bits: Mapping[int, int], labels: int) -> Answer:
    return tuple(bits.get(label) for label in range(labels)) if bits else None


def folder_of(condition: Condition, classes: Sequence[str]) -> str:
    """Return the sub-folder of the run that asks for the children if a condition is false."""
    parent, value = condition
    plain = re.fullmatch(r"[A-Za-z0-9_-]+", parent)
    ask = "unless" if value else "after"
    return f"{ask}-{parent}" if plain else f"{ask}-label-{classes.index(parent)}"


def families_of(rules: Dependencies, classes: Sequence[str]) -> Families:
    """Return the rules of a task with these labels, by index."""
    return {
        (classes.index(parent), value): tuple(classes.index(child) for child in children)
        for (parent, value), children in rules.families.items()
    }


def _bits_of(answer: Answer) -> dict[int, int]:
    """Return the known labels of an answer, with their values."""
    if not isinstance(answer, tuple):
        return {}
    return {label: bit for label, bit in enumerate(answer) if bit is not None}
