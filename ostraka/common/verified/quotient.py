"""The proof itself: the polynomial of all digits, divided by what vanishes at their points."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray
from ostraka.common.verified.layout import BLIND_LIMB, Layout
from ostraka.common.verified.norms import add_place, norm_differences
from ostraka.common.verified.range_product import range_product

_CHUNK = 40_000
"""Values of wires that are computed together, so that they stay in a core's cache."""


def quotient_values(
    layout: Layout, digits: NDArray[np.uint64], blinds: FieldArray, factors: FieldArray
) -> FieldArray:
    """Return the quotient's values, (proof_values, degree).

    Args:
        layout: of the statement that the digits satisfy.
        digits: all of them, each within its top.
        blinds: (wires, blinds), uniform.
        factors: rho, (constraints, degree), of the guardian's challenge.
    """
    field = layout.field
    shifts = np.arange(0, field.bits, BLIND_LIMB, dtype=np.uint64)
    limbs = (blinds[:, None, :] >> shifts[:, None]) & np.uint64(2**BLIND_LIMB - 1)
    known = np.concatenate([layout.arrange(digits), limbs.reshape(layout.wires, -1)], 1).astype(np.float64)
    total = np.zeros((layout.proof_values, field.degree), np.uint64)
    numbers = np.zeros((layout.numbers if layout.norm_groups else 0, layout.proof_values), np.uint64)
    step = max(1, _CHUNK // layout.proof_values)
    for place in layout.places:
        for start in range(place.wires.start, place.wires.stop, step):
            chunk = slice(start, min(start + step, place.wires.stop))
            values = _extended(layout, known[chunk])
            zeros = range_product(field, values, place.digit.top)
            total = field.add(total, field.dot(zeros.T, factors[chunk]))
            if layout.norm_groups:
                first = place.numbers.start + start - place.wires.start
                add_place(field, numbers[first : first + len(values)], values, place.digit.weight)
    differences = norm_differences(layout, field, numbers)
    total = field.add(total, field.dot(differences.T, factors[layout.wires :]))
    return field.multiply(total, layout.over_vanishing[:, None])


def _extended(layout: Layout, known: NDArray[np.float64]) -> FieldArray:
    """Return the wires' values at the quotient's points, (wires, proof_values)."""
    field = layout.field
    low, *high = (field.reduce((known @ limb).astype(np.uint64)) for limb in layout.extension_limbs)
    return field.add(low, field.rotate(high[0], 31)) if high else low
