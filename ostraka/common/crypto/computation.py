"""Description of a two-party computation, and the sizes and layout of its messages."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.base_ot import SCHEMES, Scheme
from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks
from ostraka.common.crypto.circuit import WORD_BYTES, Circuit, Wires
from ostraka.common.crypto.ot_extension import extension_bytes
from ostraka.common.crypto.transcripts import derive
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.choices import BASE_TRANSFERS

T = TypeVar("T", bound=np.generic)

PART = 256
"""Instances garbled at a time, a multiple of 8; it bounds the memory of the tables."""


@dataclass(frozen=True)
class ComputationPart:
    """Instances `start` to `stop` of a computation, all of one circuit."""

    number: int
    circuit: Circuit
    start: int
    stop: int

    @property
    def instances(self) -> int:
        """Number of instances."""
        return self.stop - self.start

    @property
    def table_bytes(self) -> int:
        """Number of bytes of their tables."""
        return self.instances * self.circuit.table_bytes

    def slice(self, size: int) -> slice:
        """Return the slice of the part in an array with `size` elements per instance."""
        return slice(self.start * size, self.stop * size)


@dataclass(frozen=True)
class Sizes:
    """Sizes in bytes of every message of a computation; they depend on nothing secret.

    Attributes:
        point: the opening of the base transfers, whatever their scheme.
        points: the offer of the base transfers.
        extension: the answer to the offer, followed by the extension of the transfers.
    """

    point: int
    points: int
    extension: int
    tables: int
    correction: int
    labels: int
    returned: int


@dataclass(frozen=True)
class Computation:
    """Circuits, each computed several times, that share their transfers and the garbler's delta.

    Instances are counted through all circuits, in order.

    Args:
        runs: circuits with the same number and width of input words, and how often each is computed. Several
            circuits must give shares.
        base_transfers: kind of the base transfers.

    Raises:
        ValueError: for no circuits, or circuits that do not fit together.
    """

    runs: tuple[tuple[Circuit, int], ...]
    base_transfers: BASE_TRANSFERS = "ed25519"

    def __post_init__(self) -> None:
        if len({(one.word_bits, one.words, one.garbler_words, one.opening) for one, _ in self.runs}) != 1:
            raise ValueError("circuits that are computed together have the same words and opening")
        if len(self.runs) > 1 and self.circuit.opening != "shares":
            raise ValueError("several circuits are computed together for shares alone")

    @classmethod
    def of(cls, circuit: Circuit, instances: int, base_transfers: BASE_TRANSFERS = "ed25519") -> Self:
        """Return the computation of one circuit, this many times."""
        return cls(((circuit, instances),), base_transfers)

    @property
    def scheme(self) -> Scheme:
        """The implementation of the base transfers."""
        return SCHEMES[self.base_transfers]

    @property
    def circuit(self) -> Circuit:
        """The first circuit; all have its words and its opening."""
        return self.runs[0][0]

    @property
    def instances(self) -> int:
        """Number of instances of all circuits."""
        return sum(instances for _, instances in self.runs)

    @property
    def transfers(self) -> int:
        """Number of labels that the evaluator gets by transfer: one for each bit of its words."""
        return self.instances * self.circuit.words * self.circuit.word_bits

    @property
    def sizes(self) -> Sizes:
        """Sizes in bytes of every message."""
        circuit = self.circuit
        instances = self.instances
        inputs = instances * circuit.garbler_words * circuit.word_bits
        return Sizes(
            point=self.scheme.opening_bytes,
            points=self.scheme.offer_bytes,
            extension=self.scheme.answer_bytes + extension_bytes(self.transfers),
            tables=sum(one.table_bytes * times for one, times in self.runs),
            correction=instances * circuit.words * WORD_BYTES,
            labels=inputs * BLOCK_BYTES + instances * circuit.colour_bytes,
            returned=instances * circuit.outputs * BLOCK_BYTES if circuit.opening == "both" else 0,
        )

    def parts(self) -> Iterator[ComputationPart]:
        """Yield all instances in order, `PART` of one circuit at a time."""
        number = first = 0
        for circuit, instances in self.runs:
            for start in range(first, first + instances, PART):
                yield ComputationPart(number, circuit, start, min(start + PART, first + instances))
                number += 1
            first += instances

    def by_circuit(self, of_parts: Iterable[NDArray[T]]) -> list[NDArray[T]]:
        """Return arrays (instances, ...) of the parts, in order, joined by circuit."""
        arrays = iter(of_parts)
        counts = [-(-instances // PART) for _, instances in self.runs]
        return [np.concatenate(list(islice(arrays, count))) for count in counts]


_WORD = np.dtype("<u4")


def extension_context(context: bytes, answer: bytes) -> bytes:
    """Return the binding of the transfers' extension: everything before it, and the base transfers' answer.

    The evaluator draws new keys of the columns with every answer, so the check must be keyed by it.
    """
    return derive(context, "extension", answer)


def cut(pieces: Sequence[bytes], sizes: Sequence[int]) -> Iterator[bytes]:
    """Yield the bytes of `pieces`, however they are divided, in pieces of `sizes`, with the same total."""
    waiting = iter(pieces)
    held = b""
    for size in sizes:
        gathered = [held]
        missing = size - len(held)
        while missing > 0:
            gathered.append(next(waiting))
            missing -= len(gathered[-1])
        joined = b"".join(gathered)
        held = joined[size:]
        yield joined[:size]


def wires_of(rows: Blocks, circuit: Circuit) -> Wires:
    """Return the evaluator's words, (word_bits, instances, words, 2), from labels in the order of transfer.

    They are transferred instance by instance, word by word, from the least significant bit.
    """
    ordered = rows.reshape(-1, circuit.words, circuit.word_bits, 2).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(ordered)


def garbler_bytes(circuit: Circuit) -> int:
    """Return the number of bytes of the labels of the garbler's words of an instance."""
    return circuit.garbler_words * circuit.word_bits * BLOCK_BYTES


def words_of(data: bytes, circuit: Circuit) -> NDArray[np.uint64]:
    """Read a correction (instances, words), uint64; raise `message.invalid` if a word is too large."""
    words = np.frombuffer(data, _WORD).astype(np.uint64).reshape(-1, circuit.words)
    if (words >= circuit.modulus).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A correction has words below {circuit.modulus}: use the same version everywhere.",
        )
    return words


def words_bytes(words: NDArray[np.uint64]) -> bytes:
    """Write a correction in the form that `words_of` reads."""
    return words.astype(_WORD).tobytes()


def out_of_order(missing: str) -> OstrakaError:
    """Return the error for a step that comes before the one it needs."""
    return OstrakaError(ErrorCode.BATCH_OUT_OF_ORDER, f"This step comes after {missing}: do that first.")
