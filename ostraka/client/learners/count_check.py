"""Check that a sum contains the declared records: the constant feature of mapped records counts them."""

import math

from ostraka.client.learners.pool_check import ALARM
from ostraka.client.learners.regression import NoisyGram


def tell_count(gram: NoisyGram, constant: float, records: float) -> tuple[str, ...]:
    """Report that a sum contains more or fewer records than declared; nothing if noise explains it.

    Args:
        gram: mean of x x' over the declared records, with noise.
        constant: the last value of every mapped record.
        records: number of records that parties declare.
    """
    share = float(gram.values[-1, -1]) / constant**2
    deviation = gram.deviation / constant**2
    if math.erfc(abs(share - 1) / (deviation * math.sqrt(2))) >= ALARM:
        return ()
    return (
        f"The sum holds about {max(share, 0) * records:,.0f} of the {records:,.0f} records that parties "
        "declare: some records have missing values, or a party does not add all its records. Expect a "
        "worse model, and ask the parties.",
    )
