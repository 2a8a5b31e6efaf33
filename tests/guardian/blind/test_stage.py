"""What a stage of a blind tally lets out, and when."""

import numpy as np
import pytest

from ostraka.common.crypto.tally_circuits import argmax_circuit
from ostraka.common.crypto.two_party import CircuitEvaluation, Computation
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.blind.blind_tally import Stage

BINDING = bytes(32)
WORDS = np.arange(6, dtype=np.uint64).reshape(2, 3)


def test_neither_tables_nor_labels_leave_before_they_are_charged() -> None:
    circuit = argmax_circuit(3, Ring(32))
    stage = Stage(circuit, np.hstack([WORDS, WORDS]), BINDING)
    evaluation = CircuitEvaluation(Computation.of(circuit, len(WORDS)), BINDING)
    stage.accept(evaluation.extension(stage.points(evaluation.point())))
    correction = evaluation.correction(WORDS)
    for step in (stage.tables, lambda: stage.labels(correction)):
        with pytest.raises(OstrakaError) as refused:
            step()
        assert refused.value.code is ErrorCode.BATCH_OUT_OF_ORDER
    stage.charged = True
    for table in stage.tables():
        evaluation.take(table)
    evaluation.evaluate(stage.labels(correction))
