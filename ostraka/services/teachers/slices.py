"""Slices: the assignment of each record to a teacher."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Slice:
    """One teacher's records.

    Attributes:
        X: float32, shape (N, *shape).
        y: int64, class indices of shape (N,), or 0, 1 or UNKNOWN of shape (N, labels)
            for multi-label tasks.
        entropy: seeds what this teacher's training draws, and nothing else.
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]
    entropy: tuple[int, ...]

    @property
    def constant(self) -> int | None:
        """The class of all records, where they have only one; none in multi-label tasks."""
        if self.y.ndim > 1 or (self.y != self.y[0]).any():
            return None
        return int(self.y[0])


def slices(records: int, teachers: int, seed: int) -> tuple[Rows, ...]:
    """Disjoint slices of 0..records-1 that cover it, int64 and sorted, sizes equal up to one record.

    They depend on the seed and the number of records alone, never on what a record holds: changing one record
    then changes one slice, one teacher, one vote, which is what a charge pays for. Slices stratified by class
    would let one changed label move records between many teachers.

    Raises:
        OstrakaError: `data.too_few` where a teacher would have no record.
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
