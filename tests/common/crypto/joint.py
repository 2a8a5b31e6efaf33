"""A complete computation between two parties in one process, message by message."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation, Garbling

SEED = bytes(range(32))
BINDING = bytes(range(100, 132))


def compute(circuit: Circuit, words: NDArray[Any], own: NDArray[Any]) -> NDArray[np.uint32]:
    """Return the outputs (instances, outputs) for words (instances, words) and (instances, garbler_words).

    They are added up from shares, or opened by the side that may open them.
    """
    garbling = Garbling(Computation.of(circuit, len(words)), SEED, BINDING)
    evaluation = CircuitEvaluation(Computation.of(circuit, len(words)), BINDING)
    garbling.accept(evaluation.extension(garbling.points(evaluation.point())))
    for part in garbling.tables():
        evaluation.take(part)
    evaluation.evaluate(garbling.labels(evaluation.correction(words), own))
    if circuit.opening == "shares":
        return evaluation.shares()[0] + garbling.shares()[0]
    bits = evaluation.bits()
    if circuit.opening == "both":
        np.testing.assert_array_equal(garbling.open_outputs(evaluation.labels_to_return()), bits)
    return bits.astype(np.uint32)
