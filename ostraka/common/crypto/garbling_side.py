"""The side that garbles: an answering party, or the guardian."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto import ot_extension
from ostraka.common.crypto.base_ot import BaseReceiver
from ostraka.common.crypto.blocks import Blocks, active, delta_of, to_bytes
from ostraka.common.crypto.circuit import Wires, split
from ostraka.common.crypto.computation import (
    Computation,
    ComputationPart,
    extension_context,
    out_of_order,
    wires_of,
    words_of,
)
from ostraka.common.crypto.garbling import Garbler, Shares, colour_table, garbler_shares, read_returned_bits
from ostraka.common.crypto.stream import Stream
from ostraka.common.crypto.transcripts import Once, check_size, derive


class Garbling:
    """A computation of the garbler: `points`, `accept`, `tables`, `labels`, then `shares` or `open_outputs`.

    Everything secret is derived from the seed, so lost messages are made again, byte for byte. Every message
    is answered for one content only; any other is refused with `crypto.refused`.
    """

    def __init__(self, computation: Computation, seed: bytes, binding: bytes) -> None:
        """Prepare a computation.

        Args:
            computation: what is computed, and how many times.
            seed: 32 fresh bytes; computations with other bindings may share it.
            binding: what the computation belongs to, from `binding`.
        """
        self._computation = computation
        self._circuit = computation.circuit
        self._sizes = computation.sizes
        self._binding = binding
        self._seed = derive(binding, "seed of the garbling", seed)
        self._delta = delta_of(Stream(self._seed, "delta").blocks())
        self._delta_bits = np.unpackbits(np.frombuffer(to_bytes(self._delta), np.uint8), bitorder="little")
        self._context = b""
        self._base: BaseReceiver | None = None
        self._columns: NDArray[np.uint8] | None = None
        self._shares: dict[int, Shares] = {}
        self._outputs: dict[int, Wires] = {}
        self._once_point = Once("point of the base transfers")
        self._once_extension = Once("transfer of labels")
        self._once_words = Once("correction")

    @property
    def context(self) -> bytes:
        """The binding of everything after the base transfers, 32 bytes.

        It is a hash of the binding, of the evaluator's opening and of the garbler's offer. The offer came
        later and is uniform, or looks so, so the evaluator cannot influence the hash. Raises
        `batch.out_of_order` before the base transfers.
        """
        if self._base is None:
            raise out_of_order("the base transfers")
        return self._context

    def points(self, point: bytes) -> bytes:
        """Return the base transfers' offer for the evaluator's opening; delta's bits are the choices.

        Raises:
            OstrakaError: `message.invalid` or `crypto.refused` for an invalid opening.
        """
        check_size("opening of the base transfers", point, self._sizes.point)
        self._once_point.admit(point)
        random = Stream(self._seed, "points").octets
        base = self._computation.scheme.receiver(point, self._delta_bits, self._binding, random)
        self._context = derive(self._binding, "transfers", point, base.offer)
        self._base = base
        return base.offer

    def accept(self, extension: bytes) -> None:
        """Take the transfer of the evaluator's labels, after a consistency check.

        Raises:
            OstrakaError: `message.invalid` for another size, `crypto.refused` for a message that fails the
                check; no other is accepted then, because each attempt could reveal a bit of delta to the
                evaluator.
        """
        if self._base is None:
            raise out_of_order("the base transfers")
        check_size("transfer of labels", extension, self._sizes.extension)
        self._once_extension.admit(extension)
        if self._columns is None:
            rows = self._computation.transfers
            answer_bytes = self._computation.scheme.answer_bytes
            answer = extension[:answer_bytes]
            sent = extension[answer_bytes:]
            context = extension_context(self._context, answer)
            keys = self._base.keys(answer)
            self._columns = ot_extension.accept(sent, rows, keys, self._delta_bits, context)

    def tables(self) -> Iterator[bytes]:
        """Yield the garbled tables, part by part, made on demand."""
        self._require_columns()
        return (self._garble(part) for part in self._computation.parts())

    def labels(self, correction: bytes, own: NDArray[np.uint64]) -> bytes:
        """Return the labels of the garbler's words, with the evaluator's correction added to the first ones.

        If outputs are opened, their colours follow; not earlier, because the evaluator's words must be fixed
        first.

        Args:
            correction: the evaluator's, uniform whatever its words are.
            own: (instances, garbler_words), below 2^word_bits; halves of the evaluator's below the modulus.

        Raises:
            OstrakaError: `message.invalid` for an invalid correction, `crypto.refused` for a different one,
                or for different words: a second label of a wire would reveal both words.
        """
        self._require_columns()
        check_size("correction", correction, self._sizes.correction)
        offsets = words_of(correction, self._circuit)
        words = own.astype(np.uint64)
        halves = words[:, : self._circuit.words]
        halves[:] = (halves + offsets) % np.uint64(self._circuit.modulus)
        self._once_words.admit(correction, words.tobytes())
        labels = b"".join(self._active_labels(part, words) for part in self._computation.parts())
        return labels if self._circuit.opening == "shares" else labels + colour_table(self._output_labels())

    def shares(self) -> list[Shares]:
        """Return the garbler's shares of the outputs in Z_2^32, (instances, outputs) for each circuit."""
        self._finish()
        return self._computation.by_circuit(self._shares[part.number] for part in self._computation.parts())

    def open_outputs(self, returned: bytes) -> NDArray[np.bool_]:
        """Return the output bits (instances, outputs) for the evaluator's returned labels.

        Raises:
            OstrakaError: `message.invalid` for another size, `crypto.refused` for a label that does not
                belong to its wire.
        """
        return read_returned_bits(Garbler(self._delta, self._context, 0), self._output_labels(), returned)

    def _require_columns(self) -> NDArray[np.uint8]:
        if self._columns is None:
            raise out_of_order("the transfer of labels")
        return self._columns

    def _finish(self) -> None:
        """Garble the parts whose tables nobody asked for."""
        self._require_columns()
        kept = self._shares if self._circuit.opening == "shares" else self._outputs
        for part in self._computation.parts():
            if part.number not in kept:
                self._garble(part)

    def _output_labels(self) -> Wires:
        """Return the labels of 0 of the outputs, (instances, outputs, 2)."""
        self._finish()
        return np.concatenate([self._outputs[part.number] for part in self._computation.parts()])

    def _garble(self, part: ComputationPart) -> bytes:
        circuit = part.circuit
        rows = part.slice(circuit.words * circuit.word_bits)
        theirs = wires_of(ot_extension.labels(self._require_columns(), rows.start, rows.stop), circuit)
        garbler = Garbler(self._delta, self._context, part.number)
        outputs = circuit.build(garbler, theirs, self._own_labels(part))
        if circuit.opening == "shares":
            self._shares[part.number], table = garbler_shares(garbler, outputs)
            return garbler.tables() + table
        self._outputs[part.number] = outputs
        return garbler.tables()

    def _own_labels(self, part: ComputationPart) -> Blocks:
        """Return the labels of 0 of the garbler's words, (word_bits, instances, garbler_words, 2)."""
        stream = Stream(self._seed, f"labels of part {part.number}")
        return stream.blocks(self._circuit.word_bits, part.instances, self._circuit.garbler_words)

    def _active_labels(self, part: ComputationPart, words: NDArray[np.uint64]) -> bytes:
        bits = split(words[part.start : part.stop], self._circuit.word_bits)
        return to_bytes(active(self._own_labels(part), bits, self._delta))
