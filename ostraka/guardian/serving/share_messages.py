"""Reads shares and sums of ballots in the form of the wire."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.rpc.steps import join
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.shares import DIGEST_BYTES, KEY_BYTES, SEED_BYTES, RowSums
from ostraka.common.verified.expansion import COMMITMENT_BYTES
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.verifier import Submission
from ostraka.guardian.sessions.batch import Share
from ostraka.guardian.sessions.verified_ballots import Verification
from ostraka.protos.ostraka.v1 import guardian_pb2

SCORE_BYTES = 4


def read_share(
    plan: Plan,
    size: int,
    header: guardian_pb2.BallotsHeader | guardian_pb2.ReleaseHeader,
    chunks: Iterable[bytes],
    score_width: int = 0,
) -> Share:
    """Ring values of a batch of `size` queries, and the scores that follow them in an interactive release.

    Raises:
        OstrakaError: `message.invalid` for a shape other than the plan's, `message.too_large`.
    """
    width = _check_shape(plan, size, header)
    scored = isinstance(header, guardian_pb2.ReleaseHeader) and plan.mechanism.takes_scores
    needed = plan.classes if scored else 0
    if score_width != needed:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Mechanism {plan.mechanism.kind} takes scores of {needed} classes with the sum, not of"
            f" {score_width}.",
        )
    ring = plan.modulus
    split = size * width * ring.element_bytes
    expected = split + size * score_width * SCORE_BYTES
    data = join(chunks, expected=expected, sha256=header.sha256)
    values = ring.from_bytes(data[:split], size, width)
    # Batch and plan determine how the bytes are read, so the digest of the bytes is the share's digest.
    return Share(values, header.sha256, _scores(data[split:], size) if scored else None)


def read_submission(
    plan: Plan,
    size: int,
    header: guardian_pb2.BallotsHeader,
    chunks: Iterable[bytes],
    layouts: Sequence[Layout],
) -> Submission:
    """Return the guardian's shares of the digits of verified ballots; raises as `read_share`."""
    _check_shape(plan, size, header)
    expected = sum(layout.share_bytes for layout in layouts)
    share = join(chunks, expected=expected, sha256=header.sha256)
    return Submission.read(layouts, share, header.commitment, header.blind_seed)


def read_proof(header: guardian_pb2.ProofHeader, chunks: Iterable[bytes], layouts: Sequence[Layout]) -> bytes:
    """Return a party's answer to its challenge; raises as `read_share`."""
    return join(chunks, expected=sum(layout.proof_bytes for layout in layouts), sha256=header.sha256)


def read_verification(
    header: guardian_pb2.VerificationHeader,
    told_of: Iterable[guardian_pb2.PartyVerification],
    sizes: Mapping[str, int],
) -> Verification:
    """Return the querying party's part of the proofs of a batch.

    Args:
        header: identifies the batch.
        told_of: each party, as it arrives.
        sizes: bytes of a verifier share, by site of the ticket.

    Raises:
        OstrakaError: `message.invalid` for a seed of another length, a party named twice or without a ticket,
            or a commitment or share of another length. Then nothing more is read.
    """
    if len(header.point_seed) != SEED_BYTES:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"A verification begins with a seed of {SEED_BYTES} bytes."
        )
    parties: dict[str, tuple[bytes, bytes]] = {}
    for told in told_of:
        fits = len(told.share) == sizes.get(told.site) and len(told.commitment) == COMMITMENT_BYTES
        if told.site in parties or not fits:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                "A verification names scheduled parties, each once, with a commitment of "
                f"{COMMITMENT_BYTES} bytes and a share as long as the plan says; send it again, whole.",
            )
        parties[told.site] = told.commitment, told.share
    evaluation = header.evaluation if header.HasField("evaluation") else None
    return Verification(header.point_seed, parties, evaluation)


def read_row_sums(request: guardian_pb2.PrepareRequest) -> RowSums:
    """Return the digests of the row sums of the querying party's shares, or none.

    Raises:
        OstrakaError: `message.invalid` unless there is none, or one for each party under a key.
    """
    digests = list(request.row_sums)
    key = request.row_sum_key
    fits = len(key) == KEY_BYTES and all(len(digest) == DIGEST_BYTES for digest in digests)
    if digests and not (fits and len(digests) == len(request.parties)):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"Row sums come as {DIGEST_BYTES} bytes for each party that is named, under a key of {KEY_BYTES};"
            " use the same version everywhere.",
        )
    return RowSums(key, dict(zip(request.parties, digests, strict=bool(digests))))


def _check_shape(
    plan: Plan, size: int, header: guardian_pb2.BallotsHeader | guardian_pb2.ReleaseHeader
) -> int:
    """Return the width of ballots; raise `message.invalid` for a header of another shape."""
    width = plan.mechanism.width(plan.classes)
    if (header.rows, header.width) != (size, width):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"This batch takes {size} rows of {width} counts, not {header.rows} rows of {header.width}.",
        )
    return width


def _scores(data: bytes, rows: int) -> NDArray[np.int64]:
    """Return a student's probabilities in units of 2^-16, rows x classes; `message.invalid` beyond 0 to 1."""
    scores = np.frombuffer(data, "<u4").astype(np.int64).reshape(rows, -1)
    if (scores > 2**FRACTION_BITS).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, "A student's scores lie between 0 and 1; send its probabilities."
        )
    return scores
