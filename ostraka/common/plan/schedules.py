"""Schedules of a party's cohorts: which of them vote on which query, as stated in tickets."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.protos.ostraka.v1 import common_pb2


def read_schedule(schedule: common_pb2.Schedule, size: int) -> NDArray[np.bool_]:
    """Return which cohort of a party votes on which query, (cohorts, `size`).

    Raises `ticket.invalid` if the bits do not fit the party's cohorts or the batch, or if no cohort votes.
    """
    site = schedule.participant.site
    cohorts = schedule.participant.cohorts
    if len(schedule.queries) != len(cohorts):
        raise ticket_invalid(f"schedules {len(schedule.queries)} cohorts of the {len(cohorts)} of {site}")
    rows = [_bits(bits, size) for bits in schedule.queries]
    if not any(row.any() for row in rows):
        raise ticket_invalid(f"schedules {site} and none of its teachers")
    return np.stack(rows)


def ticket_invalid(problem: str) -> OstrakaError:
    """Return the error for a ticket that does not permit this batch here."""
    return OstrakaError(
        ErrorCode.TICKET_INVALID, f"The ticket {problem}: ask the guardian for a ticket of this batch."
    )


def _bits(data: bytes, size: int) -> NDArray[np.bool_]:
    if not data:
        return np.ones(size, dtype=np.bool_)
    if len(data) != -(-size // 8):
        raise ticket_invalid(f"schedules {8 * len(data)} queries where the batch has {size}")
    return np.unpackbits(np.frombuffer(data, np.uint8), count=size).astype(np.bool_)
