"""Vanishing and weighting: every teacher learns from records of one level.

Mühl and Boenisch 2022, section 3.
"""

from collections.abc import Mapping

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.services.teachers.slices import Rows, require_enough, slices


def apportion(records: Mapping[str, int], teachers: int) -> dict[str, int]:
    """Teachers of each level, in proportion to its records by largest remainders, and at least one.

    Levels that would get less than one teacher get one, and the others share what is left. No level gets more
    teachers than it has records.

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


def grouped_slices(levels: Mapping[str, Rows], teachers: Mapping[str, int], seed: int) -> tuple[Rows, ...]:
    """Each level's records cut into disjoint slices for its own teachers, int64 and sorted, level by level.

    They depend on the seed and on which records are of which level alone, as in `slices`.
    """
    return tuple(
        rows[part] for level, rows in levels.items() for part in slices(len(rows), teachers[level], seed)
    )
