"""The modulus in which ballots are shared, summed and noised: a power of two, or a prime."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

RingArray = NDArray[np.unsignedinteger[Any]]
"""Residues modulo a `Modulus`, in its dtype."""


class Modulus(ABC):
    """Arithmetic on residues, each smaller than the modulus.

    Attributes:
        bits: number of bits of the largest residue.
    """

    bits: int

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """NumPy's type of residues in memory."""

    @property
    @abstractmethod
    def element_bytes(self) -> int:
        """Number of bytes of a residue in a message."""

    @abstractmethod
    def wrap(self, values: NDArray[np.integer[Any]]) -> RingArray:
        """Return the residues of integers of any size and sign."""

    @abstractmethod
    def lift(self, values: RingArray) -> NDArray[np.int64]:
        """Return the integers nearest 0 that have these residues, int64; only after noise was added."""

    @abstractmethod
    def distance(self, values: RingArray) -> NDArray[np.int64]:
        """Return the circular distance of residues from 0, at most 2^(bits-2); int64.

        It equals the count for honest sums. Whatever offset a value has, adding to the value moves the
        distance by at most as much, so it may be taken before noise is added.
        """

    @abstractmethod
    def fold(self, values: RingArray) -> RingArray:
        """Return residues folded into a half around 0: residues beyond it turn back.

        The result equals the count for honest sums and their neighbours. Whatever offset a value has, adding
        to the value moves the result by at most as much (docs/accounting-argmax.md). Noise that is added does
        not wrap.
        """

    @abstractmethod
    def add(self, first: RingArray, second: RingArray) -> RingArray:
        """Return the sum of residues."""

    @abstractmethod
    def subtract(self, first: RingArray, second: RingArray) -> RingArray:
        """Return the difference of residues."""

    @abstractmethod
    def scale(self, values: RingArray, factor: int) -> RingArray:
        """Return residues times a whole number below the modulus."""

    @abstractmethod
    def to_bytes(self, values: RingArray) -> bytes:
        """Return residues row by row, little endian."""

    @abstractmethod
    def from_bytes(self, data: bytes, rows: int, width: int) -> RingArray:
        """Read what `to_bytes` wrote as (rows, width); raise `message.invalid` for anything else."""

    def sum(self, parts: Iterable[RingArray]) -> RingArray:
        """Add arrays of one shape; raise ValueError if there are none or they differ in shape or dtype."""
        total: RingArray | None = None
        for part in parts:
            if total is not None and (part.dtype, part.shape) != (total.dtype, total.shape):
                raise ValueError("shares of one sum have one shape and one ring")
            total = part.copy() if total is None else self.add(total, part)
        if total is None:
            raise ValueError("there are no shares to add")
        return total


def check_length(data: bytes, expected: int, rows: int, width: int) -> None:
    """Raise `message.invalid` unless a share of (rows, width) residues has the `expected` number of bytes."""
    if len(data) != expected:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A share of {rows} rows and {width} columns has {expected} bytes, not {len(data)}: "
            "send the whole share, in the ring of the plan.",
        )
