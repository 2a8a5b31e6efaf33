"""The side that evaluates: the querying party."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from common.crypto import ot_extension
from common.crypto.base_ot import BaseSender, random_scalar
from common.crypto.binding import derive
from common.crypto.blocks import from_bytes, to_bytes
from common.crypto.circuit import Circuit, Opening
from common.crypto.garbling import Evaluator
from common.crypto.gates import Wires
from common.crypto.once import Once
from common.crypto.outputs import Shares, evaluated_shares, opened_bits
from common.crypto.parts import (
    Part,
    check_size,
    cut,
    garbler_bytes,
    mask_of,
    out_of_order,
    parts_of,
    wires_of,
    words_bytes,
)
from common.crypto.plain import join
from common.errors import ErrorCode, OstrakaError


class Evaluation:
    """One computation of the evaluator: `point`, `extension`, `take`, `correction`, `evaluate`, its result.

    Its transfers choose by the bits of uniform words, which depend on nothing, so the tables can be made and
    sent before its own words are known; `correction` then tells the difference between the two, which is as
    uniform (Beaver 1995 corrects transfers so). Words may thus depend on tables: half-gates stay secure then
    (Guo, Yang, Wang, Yu and Liu 2023).
    """

    def __init__(
        self,
        circuit: Circuit,
        instances: int,
        binding: bytes,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Draw everything random that the computation takes.

        Args:
            circuit: what is computed.
            instances: how many times, at least 1.
            binding: what the computation belongs to, from `binding`; the garbler's must be the same.
            random: makes random bytes.
        """
        self._circuit = circuit
        self._instances = instances
        self._sizes = circuit.sizes(instances)
        self._binding = binding
        self._base = BaseSender(binding, random_scalar(random))
        self._rows = instances * circuit.words * circuit.word_bits
        self._choices = ot_extension.random_choices(self._rows, random)
        self._context = b""
        self._columns: NDArray[np.uint8] | None = None
        self._tables: list[bytes] = []
        self._results: list[_Result] = []
        self._once_points = Once("set of base transfers")
        self._once_words = Once("set of words")

    def point(self) -> bytes:
        """The base transfers' point for the garbler."""
        return self._base.point

    def extension(self, points: bytes) -> bytes:
        """The transfer of labels for the garbler's points.

        Raises:
            OstrakaError: `message.invalid` or `crypto.refused` for points that are none, or not the first.
        """
        keys = self._base.keys(points)
        self._once_points.admit(points)
        self._context = derive(self._binding, "transfers", self._base.point, points)
        message, self._columns = ot_extension.Receiver(keys, self._context, self._choices).extend()
        return message

    def take(self, part: bytes) -> None:
        """Keep tables as they arrive, in pieces of any size; raises `message.invalid` where too many come."""
        if self._taken() + len(part) > self._sizes.tables:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"More than {self._sizes.tables} bytes of tables came: use the same version everywhere.",
            )
        self._tables.append(part)

    def take_again(self) -> None:
        """Forget the tables that came, because they will come again from the start."""
        self._tables.clear()

    def correction(self, words: NDArray[np.uint64]) -> bytes:
        """What the garbler must add to its words so that they fit the evaluator's, (instances, words).

        Uniform and independent of the words; raises `crypto.refused` for other words than before, since the
        difference of two corrections is that of the words.
        """
        difference = (words.astype(np.uint64) - self._chosen_words()) & mask_of(self._circuit)
        correction = words_bytes(difference)
        self._once_words.admit(correction)
        return correction

    def evaluate(self, labels: bytes) -> None:
        """Compute the outputs from the tables and the labels of the garbler's words.

        Raises:
            OstrakaError: `message.invalid` for labels of another size, `batch.out_of_order` before all tables
                came.
        """
        check_size("message of labels", labels, self._sizes.labels)
        if self._columns is None:
            raise out_of_order("the transfer of labels")
        if self._taken() != self._sizes.tables:
            raise out_of_order("the tables")
        parts = list(parts_of(self._instances))
        table_bytes = self._sizes.tables // self._instances
        tables = cut(self._tables, [part.instances * table_bytes for part in parts])
        self._results = [
            self._evaluate(part, self._columns, table, labels[part.slice(garbler_bytes(self._circuit))])
            for part, table in zip(parts, tables, strict=True)
        ]

    def shares(self) -> Shares:
        """The evaluator's shares of the outputs in Z_2^32, (instances, outputs), where none opens."""
        return np.concatenate([result.shares for result in self._evaluated()])

    def bits(self) -> NDArray[np.bool_]:
        """The outputs (instances, outputs), where they open."""
        return np.concatenate([result.bits for result in self._evaluated()])

    def returned(self) -> bytes:
        """The labels of the outputs, from which the garbler learns them too, where they open to both."""
        return b"".join(result.returned for result in self._evaluated())

    def _chosen_words(self) -> NDArray[np.uint64]:
        """The uniform words by whose bits the transfers choose, (instances, words)."""
        bits = np.unpackbits(self._choices, count=self._rows, bitorder="little").astype(np.uint64)
        return join(bits.reshape(self._instances, self._circuit.words, -1).transpose(2, 0, 1))

    def _evaluated(self) -> list["_Result"]:
        if not self._results:
            raise out_of_order("the labels of the garbler's words")
        return self._results

    def _taken(self) -> int:
        return sum(map(len, self._tables))

    def _evaluate(self, part: Part, columns: NDArray[np.uint8], table: bytes, labels: bytes) -> "_Result":
        circuit = self._circuit
        rows = part.slice(circuit.words * circuit.word_bits)
        own = wires_of(ot_extension.labels(columns, rows.start, rows.stop), circuit)
        theirs = from_bytes(labels, circuit.word_bits, part.instances, circuit.garbler_words)
        opening = len(table) - part.instances * circuit.opening_bytes
        evaluator = Evaluator(table[:opening], self._context, part.number)
        outputs = circuit.build(evaluator, own, theirs)
        return _opened(circuit.opening, evaluator, outputs, table[opening:])


@dataclass(frozen=True)
class _Result:
    """A part's outputs, as far as the circuit opens them."""

    shares: Shares = field(repr=False)
    bits: NDArray[np.bool_] = field(repr=False)
    returned: bytes = field(repr=False)


def _opened(opening: Opening, evaluator: Evaluator, outputs: Wires, table: bytes) -> _Result:
    nothing = np.zeros((0, outputs.shape[1]))
    if opening == "shares":
        return _Result(evaluated_shares(evaluator, outputs, table), nothing.astype(np.bool_), b"")
    returned = to_bytes(outputs) if opening == "both" else b""
    return _Result(nothing.astype(np.uint32), opened_bits(outputs, table), returned)
