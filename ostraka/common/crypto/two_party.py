"""Two parties compute a circuit on words that both keep secret: the steps of each, in order.

| evaluator | message | garbler |
|---|---|---|
| `point` | point of the base transfers -> | `points` |
| `extension` | <- points, transfer of labels -> | `accept` |
| `take` | <- tables | `tables` |
| `correction` | difference of words -> | `labels` |
| `evaluate` | <- labels | |
| `labels_to_return` | labels of outputs, where both learn them -> | `open_outputs` |

The first three rows can happen before the evaluator knows its words. Sizes are `Computation.sizes`. If the
evaluator deviates, it learns only a result for other words, which it could have input. The garbler is trusted
to garble the circuit.
"""

from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.evaluating_side import CircuitEvaluation
from ostraka.common.crypto.garbling_side import Garbling
from ostraka.common.crypto.transcripts import binding

__all__ = ["CircuitEvaluation", "Computation", "Garbling", "binding"]
