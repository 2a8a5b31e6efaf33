"""The querying party's side: its verifier share and its shares of counts, from a party's seed."""

from collections.abc import Sequence

from ostraka.common.sharing.prime_field import FieldArray
from ostraka.common.verified.evaluation import Point, verifier_share
from ostraka.common.verified.expansion import expand
from ostraka.common.verified.layout import Layout

__all__ = ["Point", "count_shares", "message"]


def message(layouts: Sequence[Layout], context: bytes, seed: bytes, point: Point) -> bytes:
    """Return the querying party's verifier shares of one party's parts, concatenated.

    Args:
        layouts: one per part.
        context: bytes that identify session, batch and party.
        seed: the party's seed.
        point: the batch's point, the same for all parties.
    """
    return b"".join(
        layout.field.to_bytes(
            verifier_share(
                layout,
                point.evaluation(layout),
                _digits(layout, context, part, seed),
                expand(layout.field, "blinds", context, part, seed, layout.wires, layout.blinds),
                expand(
                    layout.field, "quotient", context, part, seed, layout.proof_values, layout.field.degree
                ),
                claimed=0,
            )
        )
        for part, layout in enumerate(layouts)
    )


def count_shares(layouts: Sequence[Layout], context: bytes, seed: bytes) -> list[FieldArray]:
    """Return the querying party's shares of one party's counts, (rows, cells) per part."""
    return [layout.counts(_digits(layout, context, part, seed)) for part, layout in enumerate(layouts)]


def _digits(layout: Layout, context: bytes, part: int, seed: bytes) -> FieldArray:
    return expand(layout.field, "digits", context, part, seed, layout.writing.size)
