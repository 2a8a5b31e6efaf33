"""What a party's records add up to for a question, in lattice steps."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.questions import AnyQuestion, NetworkQuestion, Rows, sum_steps


def answer_steps(question: AnyQuestion, rows: Rows) -> list[NDArray[np.int64]]:
    """Return the blocks of the sum over all records in steps of 2^-16, int64.

    Raises:
        OstrakaError: `plan.invalid` where a network has another number of parameters than the question says.
    """
    if isinstance(question, NetworkQuestion):
        # Here: questions of linear models are answered where no torch is loaded.
        from ostraka.common.learning.network_sums import sum_network_gradients

        return [sum_network_gradients(question, rows)]
    return sum_steps(question, rows, FRACTION_BITS)
