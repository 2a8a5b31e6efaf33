"""A batch's evaluation point, and what a holder of shares computes there."""

from dataclasses import dataclass

import numpy as np

from ostraka.common.sharing.prime_field import ExtensionField, FieldArray, PrimeField
from ostraka.common.sharing.shares import SEED_BYTES
from ostraka.common.verified.expansion import expand
from ostraka.common.verified.layout import POINTS_BELOW, Layout, coefficients, gaps_to


@dataclass(frozen=True)
class Evaluation:
    """The values at a point that depend only on the layout.

    Attributes:
        wire: coefficients that map a wire's values to its value at the point, (points, degree).
        quotient: the same for the quotient, (proof_values, degree).
        over_vanishing: 1 / Z at the point, (degree,).
        row_factors: factors by which the checks of sums are combined, (rows, degree).
    """

    wire: FieldArray
    quotient: FieldArray
    over_vanishing: FieldArray
    row_factors: FieldArray


class Point:
    """The evaluation point of one batch and all its parties, from 32 random bytes that no party sees before.

    For the field of degree 2 it lies in F_p2 but not in F_p, otherwise beyond every layout's points:
    elsewhere a wire's value there would reveal digits.
    """

    def __init__(self, seed: bytes) -> None:
        """Raise ValueError unless the seed has 32 bytes."""
        if len(seed) != SEED_BYTES:
            raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed)}")
        self._seed = seed
        self._evaluations: dict[tuple[PrimeField, int, int, int], Evaluation] = {}

    def evaluation(self, layout: Layout) -> Evaluation:
        """Return the values at the point for a layout; computed once for all layouts of the same geometry."""
        geometry = layout.field, layout.points, layout.proof_values, layout.statement.rows
        if geometry not in self._evaluations:
            self._evaluations[geometry] = self._evaluate(layout)
        return self._evaluations[geometry]

    def _evaluate(self, layout: Layout) -> Evaluation:
        field = layout.field
        algebra = ExtensionField(layout.field)
        point = self.element(field)
        gaps = gaps_to(field, point, 0, layout.points)
        further = gaps_to(field, point, layout.points, layout.proof_values)
        return Evaluation(
            coefficients(field, layout.point_leads, gaps),
            coefficients(field, layout.end_leads, further),
            algebra.inverse(algebra.product(gaps[layout.blinds :])),
            expand(field, "row factors", b"", 0, self._seed, layout.statement.rows, field.degree),
        )

    def element(self, field: PrimeField) -> FieldArray:
        """Return the point itself, (degree,)."""
        drawn = 1
        while True:
            candidate: FieldArray = expand(field, "point", b"", 0, self._seed, drawn, field.degree)[-1]
            if candidate[1] if field.degree == 2 else candidate[0] >= POINTS_BELOW:
                return candidate
            drawn += 1


def verifier_share(
    layout: Layout,
    evaluation: Evaluation,
    digits: FieldArray,
    blinds: FieldArray,
    quotient: FieldArray,
    claimed: int,
) -> FieldArray:
    """Return one side's shares of what is checked, (message_values, degree).

    They are the values of the wires and of the quotient at the point and, if the statement has sums, the
    combination of how far they differ from the claim.

    Args:
        layout: the statement's layout.
        evaluation: the evaluation of the layout at the batch's point.
        digits: share of all digits.
        blinds: share of (wires, blinds).
        quotient: share of (proof_values, degree).
        claimed: what this side subtracts from every row: the statement's total on one side, 0 on the other.
    """
    field = layout.field
    algebra = ExtensionField(layout.field)
    wires = field.dot(np.concatenate([blinds, layout.arrange(digits)], 1), evaluation.wire)
    shares = [wires, algebra.dot(quotient, evaluation.quotient)[None]]
    sums = layout.writing.read_sums(field, digits)
    if sums is not None:
        off = field.subtract(sums, np.full_like(sums, claimed % field.prime))
        shares.append(field.dot(off[None], evaluation.row_factors[: len(off)]))
    return np.concatenate(shares)
