"""Assignment of records to teachers, by how personal budgets are used."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.grouped import apportion, grouped_slices
from ostraka.services.teachers.groups import GROUP, GroupRecord
from ostraka.services.teachers.slices import Rows, slices
from ostraka.services.teachers.upsampled import copies, upsampled_slices


@dataclass(frozen=True)
class Assignment:
    """The records of every teacher.

    Attributes:
        slices: rows of the records, int64 and sorted, by teacher.
        groups: what was assigned of every group of records.
        mixed: whether teachers learn from records of all groups; otherwise they are ordered by group.
    """

    slices: tuple[Rows, ...]
    groups: tuple[GroupRecord, ...]
    mixed: bool


def assign(dataset: Dataset, config: TrainingConfig, seed: int) -> Assignment:
    """Slices of the records as `config.variant` says; groups are in the order of their names.

    They depend on the seed and on the records' consent levels alone, never on what a record holds.

    Raises:
        OstrakaError: `data.missing` where the variant needs consent and the records have none,
            `config.invalid` for a level without an epsilon, `data.too_few` for too few records or teachers.
    """
    if config.variant == "none":
        return _together(dataset, config, seed)
    levels = _levels(dataset, config)
    if config.variant == "upsampling":
        return _upsampled(levels, config, seed)
    return _apart(levels, config, seed)


def _together(dataset: Dataset, config: TrainingConfig, seed: int) -> Assignment:
    levels = {GROUP: np.arange(len(dataset))} if dataset.consent is None else _by_level(dataset.consent)
    groups = (
        GroupRecord(name=name, records=len(rows), teachers=config.teachers) for name, rows in levels.items()
    )
    return Assignment(slices(len(dataset), config.teachers, seed), tuple(groups), mixed=True)


def _upsampled(levels: Mapping[str, Rows], config: TrainingConfig, seed: int) -> Assignment:
    """More teachers in proportion to the copies, so that each has as many records as without."""
    by_level = copies(config.consent or {}, config.delta, config.precision)
    by_record = np.empty(sum(map(len, levels.values())), np.int64)
    for level, rows in levels.items():
        by_record[rows] = by_level[level]
    teachers = round(config.teachers * int(by_record.sum()) / len(by_record))
    groups = (
        GroupRecord(name=name, records=len(rows), teachers=teachers, copies=by_level[name])
        for name, rows in levels.items()
    )
    return Assignment(upsampled_slices(by_record, teachers, seed), tuple(groups), mixed=True)


def _apart(levels: Mapping[str, Rows], config: TrainingConfig, seed: int) -> Assignment:
    teachers = apportion({name: len(rows) for name, rows in levels.items()}, config.teachers)
    groups = (
        GroupRecord(name=name, records=len(rows), teachers=teachers[name]) for name, rows in levels.items()
    )
    return Assignment(grouped_slices(levels, teachers, seed), tuple(groups), mixed=False)


def _levels(dataset: Dataset, config: TrainingConfig) -> dict[str, Rows]:
    """Rows by level, every level with an epsilon."""
    if dataset.consent is None:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"The data have no consent levels, which variant {config.variant} needs: add a column or array "
            "`consent`, or train with variant none.",
        )
    levels = _by_level(dataset.consent)
    unknown = [level for level in levels if level not in (config.consent or {})]
    if unknown:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"The data have consent level '{unknown[0]}', which has no epsilon: add it to [training.consent] "
            "of site.toml as the federation's policy has it.",
        )
    return levels


def _by_level(consent: tuple[str, ...]) -> dict[str, Rows]:
    """Rows of each level that occurs, levels in the order of their names."""
    levels = np.array(consent)
    return {str(level): np.flatnonzero(levels == level) for level in np.unique(levels)}
