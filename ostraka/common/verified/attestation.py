"""A party's attestation of refused ballots: the verifier share that its seed implies at the batch's point."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple

from ostraka.common.verified.layout import Layout, layout_of
from ostraka.common.verified.querier import Point, message

_DOMAIN = b"ostraka verified ballots 1 attestation"


def share_digest(layouts: Sequence[Layout], context: bytes, point_seed: bytes, share: bytes) -> bytes:
    """Return the digest that identifies one verifier share of one batch, party, point and statement.

    It is SHA-256 of all of them. To anybody who knows the others, it reveals no more than the share does.

    Args:
        layouts: one per part; the digest covers their statements and fields.
        context: bytes that identify session, batch and party.
        point_seed: seed of the batch's evaluation point.
        share: the querying party's verifier shares of all parts, as it sent them or should have.
    """
    statements = json.dumps([[layout.field.bits, *astuple(layout.statement)] for layout in layouts]).encode()
    hashed = hashlib.sha256()
    for part in (_DOMAIN, context, point_seed, statements, share):
        hashed.update(len(part).to_bytes(8, "big") + part)
    return hashed.digest()


class Attester:
    """What a party keeps of the ballots it proved, in case they are refused; no votes and no matrices."""

    def __init__(self, layouts: Sequence[Layout], context: bytes, seed: bytes) -> None:
        """Keep what was proved, and the seed that the querying party received."""
        self._claims = [(layout.statement, layout.field) for layout in layouts]
        self._context = context
        self._seed = seed

    def attest(self, point_seed: bytes) -> bytes:
        """Return the digest of the verifier share that the seed implies at a point.

        Call it only with the point of the querying party that received the seed. Digests at two points would
        let the guardian, which has its own shares, test guesses of votes if there are few.

        Raises:
            ValueError: if the seed of the point does not have 32 bytes.
        """
        layouts = [layout_of(*claim) for claim in self._claims]
        share = message(layouts, self._context, self._seed, Point(point_seed))
        return share_digest(layouts, self._context, point_seed, share)
