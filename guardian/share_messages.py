"""Reads shares and sums of ballots as they come over the wire."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan import Plan
from ostraka.common.rpc.chunks import join
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.sessions.batch import Share
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2

SCORE_BYTES = 4


def read_share(
    plan: Plan,
    size: int,
    header: guardian_pb2.BallotsHeader | guardian_pb2.ReleaseHeader,
    chunks: Iterator[common_pb2.Chunk],
    score_width: int = 0,
) -> Share:
    """Ring values of a batch of `size` queries, and the scores that follow them in an interactive release.

    Raises:
        OstrakaError: `message.invalid` for another shape than the plan's, `message.too_large`.
    """
    width = plan.mechanism.width(plan.classes)
    if (header.rows, header.width) != (size, width):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"This batch takes {size} rows of {width} counts, not {header.rows} rows of {header.width}.",
        )
    scored = isinstance(header, guardian_pb2.ReleaseHeader) and plan.mechanism.takes_scores
    needed = plan.classes if scored else 0
    if score_width != needed:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Mechanism {plan.mechanism.kind} takes scores of {needed} classes with the sum, not of"
            f" {score_width}.",
        )
    ring = Ring(plan.ring_bits)
    split = size * width * ring.bits // 8
    expected = split + size * score_width * SCORE_BYTES
    data = join(chunks, expected=expected, sha256=header.sha256)
    values = ring.from_bytes(data[:split], size, width)
    return Share.of(values, _scores(data[split:], size) if scored else None)


def _scores(data: bytes, rows: int) -> NDArray[np.int64]:
    """Return a student's probabilities in units of 2^-16, rows x classes; `message.invalid` beyond 0 to 1."""
    scores = np.frombuffer(data, "<u4").astype(np.int64).reshape(rows, -1)
    if (scores > 2**FRACTION_BITS).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "A student's scores lie between 0 and 1; send its probabilities."
        )
    return scores
