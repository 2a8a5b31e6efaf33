"""The proof itself: the polynomial of all digits, divided by what vanishes at their points."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sharing.prime_field import FieldArray
from ostraka.common.verified.layout import BLIND_LIMB, Layout
from ostraka.common.verified.range_product import range_product

_CHUNK = 40_000
"""Values of wires that are computed together, so that they stay in a core's cache."""


def quotient_values(
    layout: Layout, digits: NDArray[np.uint64], blinds: FieldArray, factors: FieldArray
) -> FieldArray:
    """Return the quotient's values, (proof_values, degree).

    Args:
        layout: of the statement that the digits satisfy.
        digits: (places, counts), each within its top.
        blinds: (wires, blinds), uniform.
        factors: rho, (wires, degree), of the guardian's challenge.
    """
    field = layout.field
    shifts = np.arange(0, field.bits, BLIND_LIMB, dtype=np.uint64)
    limbs = (blinds[:, None, :] >> shifts[:, None]) & np.uint64(2**BLIND_LIMB - 1)
    known = np.concatenate([layout.arrange(digits), limbs.reshape(layout.wires, -1)], 1).astype(np.float64)
    total = np.zeros((layout.proof_values, field.degree), np.uint64)
    step = max(1, _CHUNK // layout.proof_values)
    for place, digit in enumerate(layout.digits):
        wires = layout.place(place)
        for start in range(wires.start, wires.stop, step):
            chunk = slice(start, min(start + step, wires.stop))
            zeros = range_product(field, _extended(layout, known[chunk]), digit.top)
            total = field.add(total, field.dot(zeros.T, factors[chunk]))
    return field.multiply(total, layout.over_vanishing[:, None])


def _extended(layout: Layout, known: NDArray[np.float64]) -> FieldArray:
    """Return the wires' values at the quotient's points, (wires, proof_values)."""
    field = layout.field
    low, *high = (field.reduce((known @ limb).astype(np.uint64)) for limb in layout.extension_limbs)
    return field.add(low, field.rotate(high[0], 31)) if high else low
