"""The ring in which ballots are shared, summed and noised."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

RingArray = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True)
class Ring:
    """Integers modulo 2^bits, held in NumPy's unsigned type of that width; `bits` is 32 or 64."""

    bits: int

    def __post_init__(self) -> None:
        """Refuses widths that NumPy has no type for."""
        if self.bits not in (32, 64):
            raise ValueError(f"a ring has 32 or 64 bits, not {self.bits}")

    @property
    def dtype(self) -> np.dtype[np.unsignedinteger[Any]]:
        """uint32 or uint64; arithmetic on it wraps, which is the ring's addition."""
        return np.dtype(np.uint32 if self.bits == 32 else np.uint64)

    def wrap(self, values: NDArray[np.integer[Any]]) -> RingArray:
        """Integers of any size and sign reduced modulo 2^bits."""
        return np.asarray(values).astype(self.dtype)

    def lift(self, values: RingArray) -> NDArray[np.int64]:
        """Ring values as int64 in [-2^(bits-1), 2^(bits-1)); only after noise went in."""
        signed = np.dtype(f"i{self.bits // 8}")
        return self._own(values).view(signed).astype(np.int64)

    def distance(self, values: RingArray) -> NDArray[np.int64]:
        """Circular distance of ring values from 0, at most 2^(bits-2); int64.

        Equal to the count for honest sums, and moved by at most what is added to a value whatever offset
        that value carries, so it may be taken before noise (DESIGN.md section 5).
        """
        own = self._own(values)
        nearer = np.minimum(own, np.negative(own))
        return np.minimum(nearer, self.dtype.type(2 ** (self.bits - 2))).astype(np.int64)

    def fold(self, values: RingArray) -> RingArray:
        """Return values folded into [-2^(bits-2), 2^(bits-2)): where they lie farther out, they turn back.

        Equal to the count for honest sums and their neighbours, and moved by at most what is added to a
        value, whatever offset that carries (docs/accounting-argmax.md). Noise that is added does not wrap.
        """
        own = self._own(values)
        one, low = self.dtype.type(1), self.dtype.type(2 ** (self.bits - 2) - 1)
        sign, next_bit = own >> self.dtype.type(self.bits - 1), own >> self.dtype.type(self.bits - 2) & one
        folded: RingArray = (own ^ (sign ^ next_bit) * low) & low
        folded -= sign << self.dtype.type(self.bits - 2)
        return folded

    def to_bytes(self, values: RingArray) -> bytes:
        """Ring values row by row, little endian."""
        return self._own(values).astype(self.dtype.newbyteorder("<"), copy=False).tobytes()

    def from_bytes(self, data: bytes, rows: int, width: int) -> RingArray:
        """Read what `to_bytes` wrote as (rows, width); raise `message.invalid` on any other length."""
        expected = rows * width * self.dtype.itemsize
        if len(data) != expected:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"A share of {rows} rows and {width} columns has {expected} bytes, not {len(data)}: "
                "send the whole share, in the ring of the plan.",
            )
        return np.frombuffer(data, self.dtype.newbyteorder("<")).astype(self.dtype).reshape(rows, width)

    def _own(self, values: RingArray) -> RingArray:
        array = np.asarray(values)
        if array.dtype != self.dtype:
            raise ValueError(f"values of a {self.bits}-bit ring are {self.dtype}, not {array.dtype}")
        return array
