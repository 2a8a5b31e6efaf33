"""Assignment of records to teachers: disjoint slices, or by the variant that uses personal budgets."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import proportions
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.manifest import GROUP, GroupRecord

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Slice:
    """One teacher's records.

    Attributes:
        X: float32, shape (N, *shape).
        y: int64, class indices of shape (N,), or 0, 1 or UNKNOWN of shape (N, labels) for multi-label tasks.
        entropy: the seed of this teacher's training, used for nothing else.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    entropy: tuple[int, ...]

    @property
    def constant(self) -> int | None:
        """The class of all records if they have only one; None for multi-label tasks."""
        if self.y.ndim > 1 or (self.y != self.y[0]).any():
            return None
        return int(self.y[0])


def slices(records: int, teachers: int, seed: int) -> tuple[Rows, ...]:
    """Partition 0..records-1 into slices, int64 and sorted, whose sizes differ by at most one record.

    They depend only on the seed and the number of records, never on the records' contents: changing one
    record changes one slice, one teacher, one vote, which is what a charge pays for. In slices stratified by
    class, one changed label could move records between many teachers.

    Raises:
        OstrakaError: `data.too_few` if a teacher would have no record.
    """
    require_enough(records, teachers)
    order = np.random.default_rng(seed).permutation(records)
    return tuple(np.sort(rows) for rows in np.array_split(order, teachers))


def require_enough(records: int, teachers: int) -> None:
    """Raise `data.too_few` for fewer records than teachers."""
    if records < teachers:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{records} records cannot be shared by {teachers} teachers: give each at least one record, "
            "or train fewer teachers.",
        )


def apportion(records: Mapping[str, int], teachers: int) -> dict[str, int]:
    """Return the number of teachers of each level, proportional to its records by largest remainders.

    Levels that would get less than one teacher get one, and the others share the rest. A level never gets
    more teachers than it has records.

    Raises:
        OstrakaError: `data.too_few` for fewer records than teachers, or fewer teachers than levels.
    """
    total = sum(records.values())
    require_enough(total, teachers)
    if teachers < len(records):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{teachers} teachers cannot learn from {len(records)} consent levels apart: train at least one "
            "for each.",
        )
    small = [level for level, count in records.items() if count * teachers < total]
    if small:
        rest = {level: count for level, count in records.items() if level not in small}
        shared = apportion(rest, teachers - len(small))
        return {level: shared.get(level, 1) for level in records}
    found = {level: count * teachers // total for level, count in records.items()}
    by_remainder = sorted(records, key=lambda level: -(records[level] * teachers % total))
    for level in by_remainder[: teachers - sum(found.values())]:
        found[level] += 1
    return found


def slices_by_level(levels: Mapping[str, Rows], teachers: Mapping[str, int], seed: int) -> tuple[Rows, ...]:
    """Partition each level's records into slices for its own teachers, int64 and sorted, level by level.

    They depend only on the seed and the records' levels, as in `slices`.
    """
    return tuple(
        rows[part] for level, rows in levels.items() for part in slices(len(rows), teachers[level], seed)
    )


MAX_COPIES = 16
"""Maximum copies of a record: each copy is another teacher to train, and another vote that one record can
change."""


def copies(epsilons: Mapping[str, float], delta: float, precision: float) -> dict[str, int]:
    """Return how many teachers learn from a record, by level: integers that use up all budgets together.

    They are the smallest integers in the `proportions` of the levels' budgets, up to a relative error of
    `precision`. Mühl and Boenisch 2022 (Appendix B) use the epsilons themselves, which exhausts the largest
    budget first.

    Raises:
        OstrakaError: `config.invalid` if this needs more than `MAX_COPIES` copies, `budget.too_small` for an
            epsilon that pays for nothing.
    """
    ratios = proportions(epsilons, delta)
    for least in range(1, MAX_COPIES + 1):
        found = {level: round(least * ratio) for level, ratio in ratios.items()}
        if max(found.values()) > MAX_COPIES:
            break
        if all(abs(found[level] / (least * ratio) - 1) <= precision for level, ratio in ratios.items()):
            return found
    raise OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Upsampling would give more than {MAX_COPIES} copies of a record to bring what the consent levels' "
        f"budgets pay for in proportion up to {precision:g}: raise precision in [training] of site.toml, or "
        "choose vanishing or weighting where epsilons are far apart.",
    )


def slices_with_copies(copies: NDArray[np.int64], teachers: int, seed: int) -> tuple[Rows, ...]:
    """Return slices of 0..records-1, int64 and sorted, with each record in `copies` (N,) different ones.

    Their sizes differ by at most one record: each record goes to the teachers that have fewest so far, drawn
    at random among equals (own derivation). They depend only on the seed and the copies, so changing a
    record's contents changes only the contents of its slices, never which slices these are.

    Raises:
        OstrakaError: `data.too_few` for fewer records than teachers, or fewer teachers than copies.
    """
    require_enough(len(copies), teachers)
    most = int(copies.max())
    if most > teachers:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{most} copies of a record go to {most} teachers and there are {teachers}: train more teachers.",
        )
    random = np.random.default_rng(seed)
    sizes = np.zeros(teachers, np.int64)
    parts: list[list[int]] = [[] for _ in range(teachers)]
    for record in random.permutation(len(copies)):
        # Shuffled before sorting by size, so ties are broken at random.
        shuffled = random.permutation(teachers)
        chosen = shuffled[np.argsort(sizes[shuffled], kind="stable")[: copies[record]]]
        sizes[chosen] += 1
        for teacher in chosen:
            parts[teacher].append(record)
    return tuple(np.sort(np.array(part, np.int64)) for part in parts)


@dataclass(frozen=True)
class Units:
    """What is assigned to a teacher as a whole: a person's records if persons are known, else single records.

    Attributes:
        order: rows of the records, unit by unit.
        starts: index in that order at which each unit begins, and the end: one more than there are units.
        persons: whether they are persons.
    """

    order: Rows
    starts: Rows
    persons: bool

    @classmethod
    def of(cls, records: int, persons: Rows | None) -> Self:
        """Return the units of `records` records, whose `persons` (N,) are numbered from 0."""
        if persons is None:
            return cls(np.arange(records), np.arange(records + 1), persons=False)
        order = np.argsort(persons, kind="stable")
        return cls(order, np.searchsorted(persons[order], np.arange(persons.max() + 2)), persons=True)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def rows(self, units: Rows) -> Rows:
        """Return the rows of these units, sorted."""
        sizes = np.diff(self.starts)[units]
        firsts = np.cumsum(sizes) - sizes
        return np.sort(self.order[np.repeat(self.starts[units] - firsts, sizes) + np.arange(sizes.sum())])

    def levels(self, consent: tuple[str, ...]) -> dict[str, Rows]:
        """Return the units of each level that occurs, levels in the order of their names.

        Raises `data.unreadable` if a person's records have different levels.
        """
        levels = np.array(consent)[self.order]
        own = levels[self.starts[:-1]]
        if (levels != np.repeat(own, np.diff(self.starts))).any():
            raise OstrakaError(
                ErrorCode.DATA_UNREADABLE,
                "Records of one person have different consent levels: give all of them the lowest.",
            )
        return {str(level): np.flatnonzero(own == level) for level in np.unique(own)}


@dataclass(frozen=True)
class Assignment:
    """The records of every teacher.

    Attributes:
        slices: rows of the records, int64 and sorted, by teacher.
        groups: the assignment of every group of records.
        mixed: whether teachers learn from records of all groups; otherwise they are ordered by group.
    """

    slices: tuple[Rows, ...]
    groups: tuple[GroupRecord, ...]
    mixed: bool


def assign(dataset: Dataset, config: TrainingConfig, seed: int, persons: Rows | None = None) -> Assignment:
    """Return slices of the records as `config.variant` says; groups are in the order of their names.

    They depend only on the seed and the records' consent levels, never on the records' contents. If persons
    are known (`persons`, (N,), numbered from 0 as `Persons.of_record`), all records of a person go to the
    same teachers. Slices then depend only on the level of the first, second, ... person, not on ids, nor on
    the contents or number of a person's records. So replacing a person changes one vote, or as many as its
    records have copies.

    Without teachers, only groups are returned.

    Raises:
        OstrakaError: `data.missing` if the variant needs consent and the records have none, `config.invalid`
            for a level without an epsilon, `data.unreadable` if a person has two levels, `data.too_few` for
            too few records, persons or teachers.
    """
    units = Units.of(len(dataset), persons)
    if not config.teachers:
        return _declare(units, dataset.consent)
    if len(units) < config.teachers and units.persons:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"{len(units)} persons cannot be shared by {config.teachers} teachers, each of whom learns from"
            " whole persons: train fewer teachers.",
        )
    if config.variant == "none":
        return _together(units, dataset.consent, config, seed)
    levels = _levels(units, dataset, config)
    if config.variant == "upsampling":
        return _upsample(units, levels, config, seed)
    return _apart(units, levels, config, seed)


def _together(units: Units, consent: tuple[str, ...] | None, config: TrainingConfig, seed: int) -> Assignment:
    parts = slices(len(units), config.teachers, seed)
    return replace(_declare(units, consent, config.teachers), slices=tuple(map(units.rows, parts)))


def _declare(units: Units, consent: tuple[str, ...] | None, teachers: int = 0) -> Assignment:
    """Return the groups of records; all teachers learn from each."""
    levels = {GROUP: np.arange(len(units))} if consent is None else units.levels(consent)
    groups = (
        GroupRecord(name=name, records=len(units.rows(of)), teachers=teachers) for name, of in levels.items()
    )
    return Assignment((), tuple(groups), mixed=True)


def _upsample(units: Units, levels: Mapping[str, Rows], config: TrainingConfig, seed: int) -> Assignment:
    """Train more teachers in proportion to the copies, so each has as many records as without copies."""
    by_level = copies(config.consent or {}, config.delta, config.precision)
    by_unit = np.empty(len(units), np.int64)
    for level, of in levels.items():
        by_unit[of] = by_level[level]
    teachers = round(config.teachers * int(by_unit.sum()) / len(by_unit))
    groups = (
        GroupRecord(name=name, records=len(units.rows(of)), teachers=teachers, copies=by_level[name])
        for name, of in levels.items()
    )
    parts = slices_with_copies(by_unit, teachers, seed)
    return Assignment(tuple(map(units.rows, parts)), tuple(groups), mixed=True)


def _apart(units: Units, levels: Mapping[str, Rows], config: TrainingConfig, seed: int) -> Assignment:
    teachers = apportion({name: len(of) for name, of in levels.items()}, config.teachers)
    groups = (
        GroupRecord(name=name, records=len(units.rows(of)), teachers=teachers[name])
        for name, of in levels.items()
    )
    parts = slices_by_level(levels, teachers, seed)
    return Assignment(tuple(map(units.rows, parts)), tuple(groups), mixed=False)


def _levels(units: Units, dataset: Dataset, config: TrainingConfig) -> dict[str, Rows]:
    """Return the units of each level; every level must have an epsilon."""
    if dataset.consent is None:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"The data have no consent levels, which variant {config.variant} needs: add a column or array "
            "`consent`, or train with variant none.",
        )
    levels = units.levels(dataset.consent)
    unknown = [level for level in levels if level not in (config.consent or {})]
    if unknown:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The data have consent level '{unknown[0]}', which has no epsilon: add it to [training.consent] "
            "of site.toml as the federation's policy has it.",
        )
    return levels
