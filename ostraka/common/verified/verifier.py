"""The guardian's side: what a party submitted, and whether it satisfies the statements."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.prime_field import ExtensionField, FieldArray
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.evaluation import Point, verifier_share
from ostraka.common.verified.expansion import COMMITMENT_BYTES, expand
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.polynomials import add_place, norm_differences, range_product


@dataclass(frozen=True)
class Submission:
    """What a party submitted before its challenge was drawn.

    Attributes:
        share: the guardian's shares of the digits of all parts, valid for the layouts it was read with.
        commitment: the commitment to the seed that the querying party gets.
        blind_seed: the seed of the guardian's share of the blinds.
    """

    share: bytes
    commitment: bytes
    blind_seed: bytes

    @classmethod
    def read(cls, layouts: Sequence[Layout], share: bytes, commitment: bytes, blind_seed: bytes) -> Self:
        """Return what a party sent; raise `message.invalid` for wrong lengths or elements."""
        if len(commitment) != COMMITMENT_BYTES or len(blind_seed) != SEED_BYTES:
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"A verified ballot comes with a commitment of {COMMITMENT_BYTES} bytes and a seed of "
                f"{SEED_BYTES}: send both.",
            )
        _digits(layouts, share)
        return cls(share, commitment, blind_seed)


def count_shares(layouts: Sequence[Layout], submission: Submission) -> list[FieldArray]:
    """Return the guardian's shares of one party's counts, (rows, cells) per part."""
    parts = zip(layouts, _digits(layouts, submission.share), strict=True)
    return [layout.counts(digits) for layout, digits in parts]


def accepts(
    layouts: Sequence[Layout],
    context: bytes,
    submission: Submission,
    challenge: bytes,
    proof: bytes,
    point: Point,
    seed_digest: bytes,
    message: bytes,
) -> bool:
    """Return whether a party's counts satisfy its statements, judged by all messages.

    Whatever the party and the querying party sent, the work is the same if lengths and elements are valid; if
    they are not, the result is False.

    Args:
        layouts: one per part.
        context: bytes that identify session, batch and party.
        submission: what the party sent first.
        challenge: 32 bytes that the guardian drew after that, for this party only.
        proof: the party's answer to the challenge.
        point: the batch's point, from the querying party.
        seed_digest: the querying party's commitment to context and the party's seed.
        message: the querying party's verifier shares.
    """
    try:
        digits = _digits(layouts, submission.share)
        quotients = _read(layouts, proof, [(layout.proof_values, layout.field.degree) for layout in layouts])
        messages = _read(
            layouts, message, [(layout.message_values, layout.field.degree) for layout in layouts]
        )
    except OstrakaError:
        return False
    # No early exit: the time taken must not reveal which check failed.
    accepted = hmac.compare_digest(seed_digest, submission.commitment)
    for part, layout in enumerate(layouts):
        field = layout.field
        blinds = expand(field, "blinds", context, part, submission.blind_seed, layout.wires, layout.blinds)
        own = verifier_share(
            layout,
            point.evaluation(layout),
            digits[part],
            blinds,
            quotients[part],
            claimed=layout.statement.total or 0,
        )
        factors = expand(field, "challenge", context, part, challenge, layout.constraints, field.degree)
        accepted &= _holds(layout, point, factors, field.add(own, messages[part]))
    return accepted


def _holds(layout: Layout, point: Point, factors: FieldArray, values: FieldArray) -> bool:
    """Return whether all constraints, combined, are Z times the quotient, and all sums are right."""
    field = layout.field
    algebra = ExtensionField(layout.field)
    zeros = np.empty((layout.constraints, field.degree), np.uint64)
    for digit, wires in layout.ranges:
        zeros[wires] = range_product(algebra, values[wires], digit)
    numbers = np.zeros((layout.numbers, field.degree), np.uint64)
    if layout.norm_groups:
        for place in layout.places:
            add_place(field, numbers[place.numbers], values[place.wires], place.weight)
    zeros[layout.wires :] = norm_differences(layout, algebra, numbers)
    combined = field.total(algebra.multiply(factors, zeros), 0)
    quotient = algebra.multiply(combined, point.evaluation(layout).over_vanishing)
    off = np.append(field.subtract(quotient, values[layout.wires]), values[layout.wires + 1 :])
    return not np.any(off)


def _digits(layouts: Sequence[Layout], share: bytes) -> list[FieldArray]:
    read = _read(layouts, share, [(1, layout.writing.size) for layout in layouts])
    return [digits[0] for digits in read]


def _read(layouts: Sequence[Layout], data: bytes, shapes: Sequence[tuple[int, int]]) -> list[FieldArray]:
    """Read one matrix of elements per part; raise `message.invalid` for any other bytes."""
    sizes = [
        rows * width * layout.field.element_bytes
        for layout, (rows, width) in zip(layouts, shapes, strict=True)
    ]
    if len(data) != sum(sizes):
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"All parts of verified ballots have {sum(sizes)} bytes, not {len(data)}: send them as planned.",
        )
    ends = np.cumsum(sizes).tolist()
    return [
        layout.field.from_bytes(data[end - size : end], *shape)
        for layout, shape, size, end in zip(layouts, shapes, sizes, ends, strict=True)
    ]
