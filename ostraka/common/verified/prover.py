"""The party's side: shares of its counts, and the proof that they are what it claims."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.prime_field import FieldArray
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified.attestation import Attester
from ostraka.common.verified.expansion import commitment_to, expand
from ostraka.common.verified.layout import Layout
from ostraka.common.verified.polynomials import quotient_values


class Prover:
    """One party's counts of one batch, which it proves for one challenge.

    Attributes:
        commitment: the commitment to context and seed, for the guardian.
        blind_seed: the seed of the guardian's share of the blinds.
        guardian_share: the guardian's shares of the digits of all parts, concatenated.
        attester: what the party keeps in case the guardian refuses its ballots.
    """

    def __init__(
        self,
        layouts: Sequence[Layout],
        counts: Sequence[NDArray[np.int64]],
        context: bytes,
        seed: bytes,
        blind_seed: bytes,
    ) -> None:
        """Split the counts into shares.

        Args:
            layouts: one per part.
            counts: one matrix (rows, cells) per part, within the part's statement.
            context: bytes that identify session, batch and party.
            seed: 32 fresh random bytes; the querying party gets them after the proof was sent.
            blind_seed: 32 fresh random bytes, for the guardian.

        Raises:
            ValueError: for counts that do not satisfy the statement.
        """
        for layout, matrix in zip(layouts, counts, strict=True):
            _check(layout.statement, matrix)
        self._layouts = layouts
        self._context = context
        self._seed = seed
        self.blind_seed = blind_seed
        self._digits = [layout.writing.write(matrix) for layout, matrix in zip(layouts, counts, strict=True)]
        self._proofs: dict[bytes, bytes] = {}
        self.commitment = commitment_to(context, seed)
        self.attester = Attester(layouts, context, seed)
        self.guardian_share = b"".join(
            self._share(layout, part, digits)
            for part, (layout, digits) in enumerate(zip(layouts, self._digits, strict=True))
        )

    def prove(self, challenge: bytes) -> bytes:
        """Return the guardian's share of the quotients of all parts for its challenge of 32 bytes.

        The same challenge gets the same bytes. Proofs for two challenges under one seed would reveal digits.

        Raises:
            OstrakaError: `batch.altered` for a second challenge.
        """
        if self._proofs and challenge not in self._proofs:
            raise OstrakaError(
                ErrorCode.BATCH_ALTERED,
                "The ballots of this batch were proved for another challenge: ask again as a new batch.",
            )
        if challenge not in self._proofs:
            proofs = [self._proof(part, challenge) for part in range(len(self._layouts))]
            self._proofs[challenge] = b"".join(proofs)
        return self._proofs[challenge]

    def _share(self, layout: Layout, part: int, digits: NDArray[np.int64]) -> bytes:
        """Return the guardian's share of a part's digits."""
        field = layout.field
        return field.to_bytes(
            field.subtract(field.of_signed(digits), self._own(part, "digits", *digits.shape))
        )

    def _proof(self, part: int, challenge: bytes) -> bytes:
        layout = self._layouts[part]
        field = layout.field
        blinds = field.add(
            self._own(part, "blinds", layout.wires, layout.blinds),
            expand(field, "blinds", self._context, part, self.blind_seed, layout.wires, layout.blinds),
        )
        factors = expand(field, "challenge", self._context, part, challenge, layout.constraints, field.degree)
        values = quotient_values(layout, self._digits[part], blinds, factors)
        return field.to_bytes(field.subtract(values, self._own(part, "quotient", *values.shape)))

    def _own(self, part: int, purpose: str, *shape: int) -> FieldArray:
        """Return the querying party's share."""
        return expand(self._layouts[part].field, purpose, self._context, part, self._seed, *shape)


def _check(statement: Statement, counts: NDArray[np.int64]) -> None:
    if counts.shape != (statement.rows, statement.cells):
        raise ValueError(f"counts of {statement} do not have the shape {counts.shape}")
    if counts.min() < statement.least or counts.max() > statement.most:
        raise ValueError(f"counts of {statement} lie outside {statement.least}..{statement.most}")
    if statement.total is not None and np.any(counts.sum(1) != statement.total):
        raise ValueError(f"rows of {statement} do not sum to {statement.total}")
    if statement.norm is not None and not statement.norm.admits(counts):
        raise ValueError(f"rows of {statement} have larger norms")
