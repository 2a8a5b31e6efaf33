"""The side that evaluates: the querying party."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto import ot_extension
from ostraka.common.crypto.blocks import from_bytes, to_bytes
from ostraka.common.crypto.circuit import Wires, join
from ostraka.common.crypto.computation import (
    Computation,
    ComputationPart,
    cut,
    extension_context,
    garbler_bytes,
    out_of_order,
    wires_of,
    words_bytes,
)
from ostraka.common.crypto.garbling import Evaluator, Shares, evaluator_shares, open_bits
from ostraka.common.crypto.transcripts import Once, check_size, derive
from ostraka.common.errors import ErrorCode, OstrakaError


class CircuitEvaluation:
    """One computation of the evaluator: `point`, `extension`, `take`, `correction`, `evaluate`, the result.

    Its transfers choose by the bits of independent uniform words. So the tables can be made and sent before
    its own words are known; `correction` then sends the difference between the two, which is uniform as well
    (Beaver 1995 corrects transfers in this way). Words may thus depend on tables. Half-gates remain secure
    then, because the values that open outputs come with the labels (Guo, Yang, Wang, Yu and Liu 2023).
    """

    def __init__(
        self,
        computation: Computation,
        binding: bytes,
        random: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        """Draw all randomness of the computation.

        Args:
            computation: what is computed, and how many times.
            binding: what the computation belongs to, from `binding`; the garbler's must be the same.
            random: makes random bytes.
        """
        self._computation = computation
        self._circuit = computation.circuit
        self._sizes = computation.sizes
        self._binding = binding
        self._base = computation.scheme.sender(binding, random)
        self._choices = self._draw_choices(random)
        self._context = b""
        self._extension = b""
        self._columns: NDArray[np.uint8] | None = None
        self._tables: list[bytes] = []
        self._outputs: list[_Outputs] = []
        self._colours = b""
        self._once_points = Once("set of base transfers")
        self._once_words = Once("set of words")

    def point(self) -> bytes:
        """Return the base transfers' opening for the garbler."""
        return self._base.opening

    def context(self, points: bytes) -> bytes:
        """Return the binding of everything after these base transfers (`Garbling.context`)."""
        return derive(self._binding, "transfers", self._base.opening, points)

    def extension(self, points: bytes) -> bytes:
        """Return the answer to the garbler's offer and the transfer of labels, the same for every call.

        Raises:
            OstrakaError: `message.invalid` or `crypto.refused` for an invalid offer, or one that is not the
                first.
        """
        if self._extension:
            # Another answer would have new randomness, and be refused if the first one was taken.
            self._once_points.admit(points)
            return self._extension
        keys, answer = self._base.answer(points)
        self._once_points.admit(points)
        self._context = self.context(points)
        context = extension_context(self._context, answer)
        message, self._columns = ot_extension.Receiver(keys, context, self._choices).extend()
        self._extension = answer + message
        return self._extension

    def take(self, part: bytes) -> None:
        """Store tables as they arrive, in pieces of any size; raise `message.invalid` if too many come."""
        if self._tables_bytes() + len(part) > self._sizes.tables:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"More than {self._sizes.tables} bytes of tables came: use the same version everywhere.",
            )
        self._tables.append(part)

    def correction(self, words: NDArray[np.uint64]) -> bytes:
        """Return what the garbler must add to its words so that they fit the evaluator's, (instances, words).

        It is uniform and independent of the words. Raises `crypto.refused` for other words than before,
        because the difference of two corrections is that of the words.
        """
        modulus = np.uint64(self._circuit.modulus)
        difference = (words.astype(np.uint64) + (modulus - self._words_of(self._choices))) % modulus
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
        if self._tables_bytes() != self._sizes.tables:
            raise out_of_order("the tables")
        colours = len(labels) - self._computation.instances * self._circuit.colour_bytes
        parts = list(self._computation.parts())
        tables = cut(self._tables, [part.table_bytes for part in parts])
        self._outputs = [
            self._evaluate(part, self._columns, table, labels[part.slice(garbler_bytes(part.circuit))])
            for part, table in zip(parts, tables, strict=True)
        ]
        self._colours = labels[colours:]

    def shares(self) -> list[Shares]:
        """Return the evaluator's shares of the outputs in Z_2^32, (instances, outputs) for each circuit."""
        return self._computation.by_circuit(outputs.shares for outputs in self._require_outputs())

    def bits(self) -> NDArray[np.bool_]:
        """Return the outputs (instances, outputs), if they are opened."""
        return open_bits(self._output_labels(), self._colours)

    def labels_to_return(self) -> bytes:
        """Return the outputs' labels, from which the garbler learns them too, if they are opened to both."""
        return to_bytes(self._output_labels()) if self._circuit.opening == "both" else b""

    def _draw_choices(self, random: Callable[[int], bytes]) -> NDArray[np.uint8]:
        """Draw choices that are uniform residues; draw all again if a word is not one, once in 2^word_bits.

        Any other way to correct a word would make one residue likelier, and the correction would reveal that.
        """
        while True:
            choices = ot_extension.random_choices(self._computation.transfers, random)
            if (self._words_of(choices) < self._circuit.modulus).all():
                return choices

    def _words_of(self, choices: NDArray[np.uint8]) -> NDArray[np.uint64]:
        """Return the uniform words by whose bits the transfers choose, (instances, words)."""
        transfers = self._computation.transfers
        bits = np.unpackbits(choices, count=transfers, bitorder="little").astype(np.uint64)
        return join(bits.reshape(-1, self._circuit.words, self._circuit.word_bits).transpose(2, 0, 1))

    def _require_outputs(self) -> list["_Outputs"]:
        if not self._outputs:
            raise out_of_order("the labels of the garbler's words")
        return self._outputs

    def _output_labels(self) -> Wires:
        return np.concatenate([outputs.labels for outputs in self._require_outputs()])

    def _tables_bytes(self) -> int:
        return sum(map(len, self._tables))

    def _evaluate(
        self, part: ComputationPart, columns: NDArray[np.uint8], table: bytes, labels: bytes
    ) -> "_Outputs":
        circuit = part.circuit
        rows = part.slice(circuit.words * circuit.word_bits)
        own = wires_of(ot_extension.labels(columns, rows.start, rows.stop), circuit)
        theirs = from_bytes(labels, circuit.word_bits, part.instances, circuit.garbler_words)
        gates = len(table) - part.instances * circuit.share_bytes
        evaluator = Evaluator(table[:gates], self._context, part.number)
        outputs = circuit.build(evaluator, own, theirs)
        if circuit.opening == "shares":
            return _Outputs(evaluator_shares(evaluator, outputs, table[gates:]), outputs[:0])
        return _Outputs(np.zeros((0, circuit.outputs), np.uint32), outputs)


@dataclass(frozen=True)
class _Outputs:
    """A part's outputs: shares if the circuit gives shares, labels if it opens them."""

    shares: Shares = field(repr=False)
    labels: Wires = field(repr=False)
