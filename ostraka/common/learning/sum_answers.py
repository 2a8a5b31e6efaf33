"""A party's sums over its records for a question, in lattice steps."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sums.questions import AnyQuestion, NetworkQuestion, Rows, sum_steps


def answer_steps(question: AnyQuestion, rows: Rows) -> list[NDArray[np.int64]]:
    """Return the blocks of the sum over all records in steps of 2^-16, int64.

    Raises:
        OstrakaError: `plan.invalid` if a network's number of parameters differs from the question's.
    """
    if isinstance(question, NetworkQuestion):
        # Imported here, because questions of linear models are answered without loading torch.
        from ostraka.common.learning.network_sums import sum_network_gradients

        return [sum_network_gradients(question, rows)]
    return sum_steps(question, rows, FRACTION_BITS)
