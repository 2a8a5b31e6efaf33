"""Ballots of a party that may cheat, up to where the guardian accepts or refuses them."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.verified.expansion import commitment_to, expand
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.polynomials import add_place, norm_differences, range_product
from ostraka.common.verified.prover import Prover
from ostraka.common.verified.querier import Point, message
from ostraka.common.verified.verifier import Submission, accepts


class CheatingProver(Prover):
    """Proves arbitrary values as if they were digits."""

    def alter(self, change: NDArray[np.int64], part: int = 0) -> None:
        """Add to all digits of a part, in order, before they are shared."""
        self._digits[part] = self._digits[part] + change
        self.guardian_share = b"".join(
            self._share(layout, i, digits)
            for i, (layout, digits) in enumerate(zip(self._layouts, self._digits, strict=True))
        )

    def _proof(self, part: int, challenge: bytes) -> bytes:
        """Prove like an honest party, but exactly, for digits of any size."""
        layout, ring = self._layouts[part], self._layouts[part].field
        drawn = layout.wires, layout.blinds
        theirs = expand(ring, "blinds", self._context, part, self.blind_seed, *drawn)
        blinds = ring.add(self._own(part, "blinds", *drawn), theirs)
        factors = expand(ring, "challenge", self._context, part, challenge, layout.constraints, ring.degree)
        limbs = [limb.astype(np.uint64) for limb in layout.extension_limbs]
        matrix = limbs[0] if len(limbs) == 1 else ring.add(limbs[0], ring.rotate(limbs[1], 31))
        arranged = ring.wrap(layout.arrange(self._digits[part]))
        cells = arranged.shape[1]
        values = ring.add(
            ring.dot(arranged, matrix[:cells]), ring.dot(blinds, matrix[cells : cells + layout.blinds])
        )
        zeros = [range_product(ring, values[place.wires], place.digit) for place in layout.places]
        numbers = np.zeros((layout.numbers, layout.proof_values), np.uint64)
        for place in layout.places:
            add_place(ring, numbers[place.numbers], values[place.wires], place.weight)
        zeros.append(norm_differences(layout, ring, numbers))
        total = ring.dot(np.concatenate(zeros).T.copy(), factors)
        quotients = ring.multiply(total, layout.over_vanishing[:, None])
        return ring.to_bytes(ring.subtract(quotients, self._own(part, "quotient", *quotients.shape)))


@dataclass
class Ballot:
    """One party's ballots and what everybody has of them."""

    layouts: Sequence[Layout]
    counts: Sequence[NDArray[np.int64]]
    context: bytes = b"a session, a batch, a party"
    seed: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    challenge: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    point: Point = field(default_factory=lambda: Point(secrets.token_bytes(32)))

    def __post_init__(self) -> None:
        """Share the counts."""
        blinds = secrets.token_bytes(32)
        self.prover = CheatingProver(self.layouts, self.counts, self.context, self.seed, blinds)

    @property
    def submission(self) -> Submission:
        prover = self.prover
        return Submission.read(self.layouts, prover.guardian_share, prover.commitment, prover.blind_seed)

    @property
    def message(self) -> bytes:
        return message(self.layouts, self.context, self.seed, self.point)

    def accepted(
        self,
        *,
        proof: bytes | None = None,
        submission: Submission | None = None,
        told: bytes | None = None,
        context: bytes | None = None,
        challenge: bytes | None = None,
        seed: bytes | None = None,
    ) -> bool:
        return accepts(
            self.layouts,
            self.context if context is None else context,
            submission or self.submission,
            self.challenge if challenge is None else challenge,
            self.prover.prove(self.challenge) if proof is None else proof,
            self.point,
            commitment_to(self.context, self.seed if seed is None else seed),
            self.message if told is None else told,
        )
