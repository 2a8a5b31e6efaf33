"""Upsampling: records with a larger budget are given to more teachers.

Mühl and Boenisch 2022, section 3.1 and Appendix B.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import proportions
from ostraka.services.teachers.slices import Rows, require_enough

MOST_COPIES = 16


def copies(epsilons: Mapping[str, float], delta: float, precision: float) -> dict[str, int]:
    """How many teachers learn from a record, by level: whole numbers under which budgets end together.

    They are the smallest in the `proportions` of the levels' budgets, up to a relative error of `precision`.
    Mühl and Boenisch 2022 (Appendix B) take epsilons themselves, which uses up the largest budget first.

    Raises:
        OstrakaError: `config.invalid` where this takes more than `MOST_COPIES` copies, `budget.too_small`
            for an epsilon that pays for nothing.
    """
    ratios = proportions(epsilons, delta)
    for least in range(1, MOST_COPIES + 1):
        found = {level: round(least * ratio) for level, ratio in ratios.items()}
        if max(found.values()) > MOST_COPIES:
            break
        if all(abs(found[level] / (least * ratio) - 1) <= precision for level, ratio in ratios.items()):
            return found
    raise OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Upsampling would give more than {MOST_COPIES} copies of a record to bring what the consent levels' "
        f"budgets pay for in proportion up to {precision:g}: raise precision in [training] of site.toml, or "
        "choose vanishing or weighting where epsilons are far apart.",
    )


def upsampled_slices(copies: NDArray[np.int64], teachers: int, seed: int) -> tuple[Rows, ...]:
    """Slices of 0..records-1, int64 and sorted, each record in `copies` (N,) of them, all different.

    Their sizes are equal up to one record: each record goes to the teachers that have fewest so far, drawn at
    random among equals (own derivation). They depend on the seed and on the copies alone, so changing what a
    record of some level holds changes only the slices that it is in, never which ones those are.

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
        shuffled = random.permutation(teachers)
        chosen = shuffled[np.argsort(sizes[shuffled], kind="stable")[: copies[record]]]
        sizes[chosen] += 1
        for teacher in chosen:
            parts[teacher].append(record)
    return tuple(np.sort(np.array(part, np.int64)) for part in parts)
