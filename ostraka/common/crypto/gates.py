"""The gate interface of circuits: AND and NOT on arrays of wires, and `^`, which is XOR.

Wires are uint64 arrays. The last axis is the label: 2 long when a circuit is garbled or evaluated, 1 long
when it is computed in the clear. A word is (bits, instances, ..., label), least significant bit first.
"""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Wires = NDArray[np.uint64]


class Gates(Protocol):
    """One way to compute a circuit: in the clear, garbling, or evaluating."""

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Element by element AND of wires of equal shape; what a circuit costs."""
        ...

    def not_(self, a: Wires) -> Wires:
        """Element by element NOT; free."""
        ...
